/**
 * The pages for developers: `docs/sending.md`, `docs/checking-content.md`, `docs/responses.md`. Each example is a block
 * `sh` with curl, one block `http` for the response to each of its requests, and one block in each other language.
 * Blocks marked `setup` are put before every later block of their language.
 */

export const LANGUAGES = ['sh', 'ts', 'python', 'php', 'go', 'ruby'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface ResponseBlock {
  /** Fields of the body to show, such as `recipients.status`; null: all. */
  readonly fields: readonly string[] | null;
  readonly text: string;
}

export interface Example {
  /** Nearest heading, for messages about failures. */
  readonly heading: string;
  /** Preparation that readers do not see: an HTML comment `<!-- state: … -->` before the example. */
  readonly state: string | null;
  readonly code: Readonly<Partial<Record<Language, string>>>;
  readonly responses: readonly ResponseBlock[];
}

export interface Page {
  readonly setup: Readonly<Partial<Record<Language, string>>>;
  readonly examples: readonly Example[];
}

const PART =
  /^(?<heading>#+ .*)$|^<!-- state: (?<state>.*) -->$|^```(?<name>\w+)(?<info>[^\n]*)\n(?<text>[\s\S]*?)^```$/gm;

type Part = Readonly<Record<'heading' | 'state' | 'name' | 'info' | 'text', string | undefined>>;
type Block = Readonly<Record<'name' | 'info' | 'text', string>>;

const blockOf = ({ name = '', info = '', text = '' }: Part): Block => ({ name, info, text });

const fieldsOf = (info: string): ResponseBlock['fields'] => {
  const [, names] = /fields: (.*)/.exec(info) ?? [];
  return names === undefined ? null : names.split(', ');
};

/** The example whose first block is at this index: it ends before the next block `sh`. */
const exampleAt = (parts: readonly Part[], start: number): Example => {
  const next = parts.findIndex(({ name }, index) => index > start && name === 'sh');
  const blocks = parts.slice(start, next < 0 ? undefined : next).map(blockOf);
  const languages: readonly string[] = LANGUAGES;
  return {
    heading: parts.slice(0, start).findLast(({ heading }) => heading !== undefined)?.heading ?? '',
    state: parts[start - 1]?.state ?? null,
    code: Object.fromEntries(
      blocks.filter(({ name }) => languages.includes(name)).map(({ name, text }) => [name, text]),
    ),
    responses: blocks
      .filter(({ name }) => name === 'http')
      .map(({ info, text }): ResponseBlock => ({ fields: fieldsOf(info), text })),
  };
};

export const readPage = (markdown: string): Page => {
  const parts = Array.from(markdown.matchAll(PART), ({ groups }) => groups as Part);
  const isSetup = ({ info = '' }: Part): boolean => info.includes('setup');
  const setup = parts.filter(isSetup).map(blockOf);
  const rest = parts.filter((part) => !isSetup(part));
  return {
    setup: Object.fromEntries(setup.map(({ name, text }) => [name, text])),
    examples: rest.flatMap(({ name }, index) => (name === 'sh' ? [exampleAt(rest, index)] : [])),
  };
};

/** Replaces the text of the page's response blocks, in order. */
export const withResponses = (markdown: string, texts: readonly string[]): string => {
  let index = 0;
  return markdown.replace(/^(```http[^\n]*\n)[\s\S]*?^```$/gm, (_, opening: string) => {
    const text = texts[index] ?? '';
    index += 1;
    return `${opening}${text}\`\`\``;
  });
};
