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
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedContent, SerializedRendering } from '../../http/resources/templates/template.ts';
import { Prose } from '../components/facts.tsx';
import { Mark } from '../components/icons.tsx';
import { ApiFault } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';

/** Locates the problems of a template, from rejected requests and from the analysis of its output. */

type Finding = SerializedRendering['analysis']['findings'][number];

interface Problem {
  readonly severity: Finding['severity'];
  readonly sentence: string;
  readonly fix: string | null;
  /** For example `html` or `locales.de.html`; null: unknown. */
  readonly field: string | null;
  readonly line: number;
  readonly column: number;
}

/** The error format that publishing and rendering share. */
const PLACED = /^(?<field>\S+) line (?<line>\d+), column (?<column>\d+): (?<sentence>.*)$/s;
const PLACED_BEHIND = /^(?<field>[^\s:]+): (?<sentence>.*) \(line (?<line>\d+), column (?<column>\d+)\)$/s;

const problemOf = (told: string): Problem => {
  const { field, line, column, sentence } = (PLACED.exec(told) ?? PLACED_BEHIND.exec(told))?.groups ?? {};
  const rest = { severity: 'error', fix: null } as const;
  return field === undefined
    ? { ...rest, sentence: told, field: null, line: 1, column: 1 }
    : { ...rest, sentence: sentence ?? '', field, line: Number(line), column: Number(column) };
};

const ofFinding = ({ severity, message, fix, source }: Finding): Problem => ({
  severity,
  sentence: message,
  fix,
  field: source?.field ?? null,
  line: source?.line ?? 1,
  column: source?.column ?? 1,
});

/** The analysis finds invalid html too. */
const isSame = (left: Problem, right: Problem): boolean =>
  left.field === right.field && left.line === right.line && left.column === right.column;

/** Variables that a preview lacks an example of. */
export const withoutExample = (error: Error | null): readonly string[] => {
  const details = error instanceof ApiFault ? Object.values(error.details).flat() : [];
  return details.flatMap((told) => /^variables\.(\S+) is required$/.exec(told)?.[1] ?? []);
};

/** Problems from a rejection replace those of the analysis, which is older. */
export const problemsOf = (error: Error | null, rendered: SerializedRendering | null): readonly Problem[] => {
  if (error === null && rendered !== null) {
    const problems = rendered.publish_problems.map(problemOf);
    const others = rendered.analysis.findings.map(ofFinding).filter((one) => !problems.some((by) => isSame(by, one)));
    return [...problems, ...others];
  }
  if (error === null) return [];
  const details = error instanceof ApiFault ? Object.values(error.details).flat() : [];
  if (withoutExample(error).length === details.length && details.length > 0) return [];
  return (details.length === 0 ? [error.message] : details).map(problemOf);
};

/**
 * An editor for HTML with Liquid. It renders in a shadow root so that its styles can be adopted style sheets: the
 * page's content security policy allows these but blocks style elements.
 */

/** A position in the text; line and column start at 1. */
interface Spot {
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
  '&.cm-focused, &:focus-within': { outline: 'none' },
  // An outline would lie below the line numbers and the marked line.
  '&.cm-focused::after, &:focus-within::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    zIndex: '400',
    outline: '2px solid var(--accent)',
    outlineOffset: '-2px',
    pointerEvents: 'none',
  },
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

interface CodeEditorProps {
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

const CodeEditor = (props: CodeEditorProps): JSX.Element => {
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

/** Source of a template in one language. */

type Part = 'html' | 'text';
type LocaleContent = SerializedContent['locales'][string];

const TONES = { error: 'bad', warning: 'wait', info: 'mute' } as const;
const STATES = { error: 'fault', warning: 'warning', info: 'unchecked' } as const;
/** Shows this many problems. The rest appear once these are fixed. */
const SHOWN_MAX = 3;

const inLocale = (content: SerializedContent, locale: string | null): LocaleContent =>
  (locale === null ? undefined : content.locales[locale]) ?? content;

/** @returns the fields to save. */
const changed = (content: SerializedContent, locale: string | null, fields: Partial<LocaleContent>) =>
  locale === null ? fields : { locales: { ...content.locales, [locale]: { ...inLocale(content, locale), ...fields } } };

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly field: string;
  onGo(spot: Spot): void;
}

const Problems = ({ problems, field, onGo }: ProblemsProps): JSX.Element | null => {
  const [first] = problems;
  if (first === undefined) return null;
  return (
    <ul class={`prob ${TONES[first.severity]}`} aria-label="What is wrong">
      {problems.slice(0, SHOWN_MAX).map((problem) => (
        <li key={`${problem.line} ${problem.column} ${problem.sentence}`}>
          <Mark state={STATES[problem.severity]} />
          <span>
            {problem.field !== null && `Line ${problem.line}, column ${problem.column}: `}
            <Prose text={problem.sentence} />
            {problem.fix !== null && (
              <span class="two">
                {' '}
                <Prose text={problem.fix} />
              </span>
            )}{' '}
            {problem.field === field && (
              <button type="button" class="lnk" onClick={() => onGo({ line: problem.line, column: problem.column })}>
                Go there
              </button>
            )}
          </span>
        </li>
      ))}
      {problems.length > SHOWN_MAX && <li class="muted">and {problems.length - SHOWN_MAX} more</li>}
    </ul>
  );
};

interface SourceProps {
  readonly content: SerializedContent;
  /** Changes when the content comes from elsewhere. */
  readonly epoch: number;
  readonly isReadOnly: boolean;
  readonly problems: readonly Problem[];
  /** Link to compare the draft with the live version; null: there is only one of them. */
  readonly compare: { readonly href: string; readonly word: string } | null;
  onChange(edits: Partial<SerializedContent>): void;
}

const Languages = ({ content }: { readonly content: SerializedContent }): JSX.Element | null => {
  const locales = Object.keys(content.locales);
  const chosen = usePlace().query.get('locale') ?? '';
  if (locales.length === 0) return null;
  return (
    <select
      class="pick"
      aria-label="Language"
      value={chosen}
      onChange={({ currentTarget }) => navigate(withParameters({ locale: currentTarget.value || null }), 'replace')}
    >
      <option value="">Default</option>
      {locales.map((locale) => (
        <option key={locale} value={locale}>
          {locale}
        </option>
      ))}
    </select>
  );
};

const Parts = ({ part, format }: { readonly part: Part } & Pick<SerializedContent, 'format'>): JSX.Element => (
  <nav class="seg" aria-label="Part">
    {(['html', 'text'] as const).map((one) => (
      <a
        key={one}
        href={withParameters({ part: one === 'text' ? one : null })}
        {...(one === part && { 'aria-current': 'true' })}
      >
        {one === 'html' ? (format === 'mjml' ? 'MJML' : 'HTML') : 'Text'}
      </a>
    ))}
  </nav>
);

interface LineProps {
  readonly name: string;
  readonly value: string;
  readonly isReadOnly: boolean;
  onChange(value: string): void;
}

const Line = ({ name, value, isReadOnly, onChange }: LineProps): JSX.Element => (
  <label class="subject-line cells line">
    <span>{name}</span>
    <input value={value} readOnly={isReadOnly} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
);

const localeIn = ({ locales }: SerializedContent, asked: string | null): string | null =>
  asked !== null && Object.hasOwn(locales, asked) ? asked : null;

const TEXT_HINT = 'Generated from the HTML while this is empty.';

export const TemplateSource = ({
  content,
  epoch,
  isReadOnly,
  problems,
  compare,
  onChange,
}: SourceProps): JSX.Element => {
  const { query } = usePlace();
  const [goTo, setGoTo] = useState<Spot | null>(null);
  const part: Part = query.get('part') === 'text' ? 'text' : 'html';
  const locale = localeIn(content, query.get('locale'));
  const shown = inLocale(content, locale);
  const field = locale === null ? part : `locales.${locale}.${part}`;
  const change = (fields: Partial<LocaleContent>): void => onChange(changed(content, locale, fields));
  const set = (value: string): void => {
    if (part === 'html') change({ html: value });
    else change({ text: value === '' ? null : value });
  };
  return (
    <div class="pane">
      <div class="phead flex line wrap">
        <Parts part={part} format={content.format} />
        <Languages content={content} />
        <span class="sp" />
        {compare !== null && (
          <a class="btn ghost small" href={compare.href}>
            {compare.word}
          </a>
        )}
      </div>
      <Line name="Subject" value={shown.subject} isReadOnly={isReadOnly} onChange={(subject) => change({ subject })} />
      <Line
        name="Preview line"
        value={shown.preheader ?? ''}
        isReadOnly={isReadOnly}
        onChange={(preheader) => change({ preheader: preheader || null })}
      />
      {part === 'text' && shown.text === null && <p class="hint muted line">{TEXT_HINT}</p>}
      <CodeEditor
        key={field}
        label={part === 'html' ? 'Source of the HTML' : 'Source of the text'}
        value={shown[part] ?? ''}
        epoch={epoch}
        isReadOnly={isReadOnly}
        problems={problems.filter((problem) => problem.field === field && problem.severity !== 'info')}
        goTo={goTo}
        onChange={set}
      />
      <Problems problems={problems} field={field} onGo={setGoTo} />
    </div>
  );
};
