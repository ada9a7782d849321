import type { JSX } from 'preact';
import type { ShownRefusedRequest } from '../../http/schemas/refused-request.ts';

type Body = NonNullable<ShownRefusedRequest['body']>;
type Problem = ShownRefusedRequest['problems'][number];

interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

const stretchesOf = (problems: readonly Problem[]): readonly Stretch[] =>
  problems
    .flatMap(({ start, end }) => (start === null || end === null ? [] : [{ start, end }]))
    .toSorted((one, other) => one.start - other.start);

/** Splits the text at its problems. A problem that starts inside another one is left out. */
const piecesOf = (text: string, problems: readonly Problem[]): readonly Piece[] => {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end } of stretchesOf(problems)) {
    if (start < at) continue;
    pieces.push({ text: text.slice(at, start), isMarked: false }, { text: text.slice(start, end), isMarked: true });
    at = end;
  }
  return [...pieces, { text: text.slice(at), isMarked: false }];
};

/** Groups pieces into lines. */
const linesOf = (pieces: readonly Piece[]): readonly (readonly Piece[])[] => {
  const lines: Piece[][] = [[]];
  for (const { text, isMarked } of pieces) {
    const [first = '', ...others] = text.split('\n');
    lines.at(-1)?.push({ text: first, isMarked });
    for (const other of others) lines.push([{ text: other, isMarked }]);
  }
  return lines;
};

const isHit = (line: readonly Piece[]): boolean => line.some(({ isMarked }) => isMarked);

interface RefusedBodyProps {
  readonly body: Body;
  readonly problems: readonly Problem[];
}

/**
 * The request body with its mistakes marked. Line numbers are the original ones, unless a single-line body was
 * formatted.
 */
export const RefusedBody = ({ body, problems }: RefusedBodyProps): JSX.Element => (
  <>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
    {/* biome-ignore lint/a11y/useSemanticElements: the text is shown unchanged */}
    <pre class={`rqbody ${body.formatted ? '' : 'numbered'}`} tabIndex={0} role="region" aria-label="Body">
      {linesOf(piecesOf(body.text, problems)).map((line, index) => (
        <span key={index} class={isHit(line) ? 'hit' : ''}>
          {line.map(({ text, isMarked }, at) => (isMarked ? <mark key={at}>{text}</mark> : <bdi key={at}>{text}</bdi>))}
          {'\n'}
        </span>
      ))}
    </pre>
    <p class="muted">
      {body.formatted && 'It was sent in one line. '}
      {body.cut && 'There was more. '}
      Texts are <code>***</code>: what a request said is not kept.
    </p>
  </>
);
