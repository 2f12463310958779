// Turns an exercise's text area into an editor for Python; the text area goes on holding the text.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: "var(--q)" },
  { tag: [tags.string, tags.number], color: "var(--v)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.className], color: "var(--k)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

// Box, font and colours are those of the text area, from the page's stylesheet.
const look = EditorView.theme({
  "&.cm-focused": { outline: "3px solid var(--q)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "inherit" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0" },
  ".cm-gutters": { backgroundColor: "var(--tint)", border: "0", color: "var(--muted)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--line)" },
});

export function upgrade(area) {
  const focused = document.activeElement === area;
  const { selectionStart: anchor, selectionEnd: head } = area;
  const attributes = {
    "aria-label": area.labels[0].textContent,
    "aria-describedby": area.getAttribute("aria-describedby"),
    tabindex: "0",
  };
  const view = new EditorView({
    state: EditorState.create({
      doc: area.value,
      selection: focused ? { anchor, head } : undefined,
      extensions: [
        lineNumbers(),
        history(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        python(),
        syntaxHighlighting(colours),
        look,
        // Tab is not among the keys: it leaves the editor.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of(attributes),
        EditorView.editorAttributes.of({ class: "exercise-answer" }),
        EditorView.updateListener.of(({ docChanged }) => {
          if (!docChanged) return;
          area.value = view.state.doc.toString();
          area.dispatchEvent(new Event("input"));
        }),
      ],
    }),
  });
  area.hidden = true;
  area.before(view.dom);
  if (focused) view.focus();
  area.labels[0].addEventListener("click", () => view.focus());
  area.addEventListener("change", () => {
    if (area.value !== view.state.doc.toString())
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } });
  });
}
