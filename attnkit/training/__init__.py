"""The networks that chapters train: small torch modules and their loops, a module a chapter."""
