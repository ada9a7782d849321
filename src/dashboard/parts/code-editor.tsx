import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, LanguageSupport, LRLanguage, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState, StateEffect, StateField, type Text } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { parser } from '@lezer/html';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * An editor for HTML with Liquid. It renders in a shadow root so that its styles can be adopted style sheets: the
 * page's content security policy allows these but blocks style elements.
 */

/** A position in the text; line and column start at 1. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

const html = new LanguageSupport(LRLanguage.define({ name: 'html', parser }));

const colors = HighlightStyle.define([
  { tag: [tags.tagName, tags.angleBracket], color: 'var(--accent)' },
  { tag: [tags.attributeName], color: 'var(--wait-text)' },
  { tag: [tags.attributeValue], color: 'var(--wait-text)' },
  { tag: [tags.comment, tags.documentMeta, tags.processingInstruction], color: 'var(--text-3)' },
  { tag: [tags.character], color: 'var(--ok-text)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--bg-raised)', fontSize: '12px' },
  // Uses `:focus-within` as well, because the editor sets its own class a moment later.
  '&.cm-focused, &:focus-within': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', letterSpacing: '-0.01em' },
  '.cm-content': { padding: '8px 0 12px', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--bg-raised)', color: 'var(--text-3)', border: '0', minWidth: '38px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--bg-subtle)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-content ::selection': { backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)' },
  '.liquid': {
    color: 'var(--plan-text)',
    backgroundColor: 'var(--plan-soft)',
    borderRadius: '3px',
    padding: '1px 2px',
  },
  '.liquid *': { color: 'inherit' },
  '.problem': { backgroundColor: 'var(--bad-soft)' },
});

const liquidMarks = new MatchDecorator({
  regexp: /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g,
  decoration: Decoration.mark({ class: 'liquid' }),
});

const liquid = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = liquidMarks.createDeco(view);
    }
    update(update: ViewUpdate): void {
      this.decorations = liquidMarks.updateDeco(update, this.decorations);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

const setProblems = StateEffect.define<readonly Spot[]>();

const linesOf = (text: Text, problems: readonly Spot[]): DecorationSet =>
  Decoration.set(
    [...new Set(problems.map(({ line }) => Math.min(line, text.lines)))]
      .toSorted((left, right) => left - right)
      .map((line) => Decoration.line({ class: 'problem' }).range(text.line(line).from)),
  );

const problemLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (lines, { changes, effects, state }) => {
    const set = effects.find((effect) => effect.is(setProblems));
    return set === undefined ? lines.map(changes) : linesOf(state.doc, set.value as readonly Spot[]);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export interface CodeEditorProps {
  /** Accessible name. */
  readonly label: string;
  /** Initial content. */
  readonly value: string;
  /** Changes when `value` comes from elsewhere and must replace the typed text. */
  readonly epoch: number;
  readonly isReadOnly: boolean;
  /** Positions of the problems whose lines are marked. */
  readonly problems: readonly Spot[];
  /** Moves the cursor there when it changes. */
  readonly goTo: Spot | null;
  onChange(value: string): void;
}

const move = (view: EditorView, { line, column }: Spot): void => {
  const { from, to } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
  const anchor = Math.min(to, from + Math.max(0, column - 1));
  view.dispatch({ selection: { anchor }, scrollIntoView: true });
  view.focus();
};

export const CodeEditor = (props: CodeEditorProps): JSX.Element => {
  const { label, value, epoch, isReadOnly, problems, goTo } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(props.onChange);
  changed.current = props.onChange;
  const locked = useRef(new Compartment());
  const lock = [EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)];
  useEffect(() => {
    const parent = host.current?.shadowRoot ?? host.current?.attachShadow({ mode: 'open' });
    if (parent === undefined) return;
    const extensions = [
      lineNumbers(),
      history(),
      highlightActiveLine(),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      html,
      syntaxHighlighting(colors),
      liquid,
      problemLines,
      look,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed.current(update.state.doc.toString());
      }),
      locked.current.of(lock),
    ];
    const made = new EditorView({ doc: value, extensions, parent, root: parent });
    view.current = made;
    return () => made.destroy();
  }, [label]);
  useEffect(() => {
    const { current } = view;
    if (current === null || current.state.doc.toString() === value) return;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [epoch]);
  useEffect(() => view.current?.dispatch({ effects: locked.current.reconfigure(lock) }), [isReadOnly]);
  useEffect(() => view.current?.dispatch({ effects: setProblems.of(problems) }), [JSON.stringify(problems)]);
  useEffect(() => {
    if (goTo !== null && view.current !== null) move(view.current, goTo);
  }, [goTo]);
  return <div ref={host} class="codehost" />;
};
