import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedContent } from '../../http/schemas/template.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import type { Problem } from '../data/template-problems.ts';
import { CodeEditor, type Spot } from './code-editor.tsx';
import { Mark } from './icons.tsx';
import { Prose } from './prose.tsx';

/** Source of a template in one language. */

export type Part = 'html' | 'text';
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
      <option value="">All other languages</option>
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
  <label class="subject-line">
    <span>{name}</span>
    <input value={value} readOnly={isReadOnly} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
);

const localeIn = ({ locales }: SerializedContent, asked: string | null): string | null =>
  asked !== null && Object.hasOwn(locales, asked) ? asked : null;

const TEXT_HINT = 'Made from the HTML while nothing is written here.';

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
      <div class="phead">
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
      {part === 'text' && shown.text === null && <p class="hint muted">{TEXT_HINT}</p>}
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

/** Link to a template's own screen. */
export const templateLink = (id: string, parameters: Readonly<Record<string, string>> = {}): string =>
  linkTo(`/templates/${id}`, parameters);
