import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SerializedRefusedRequest, ShownRefusedRequest } from '../../http/resources/refused-requests.ts';
import { CopyField, Fact, Facts, Prose } from '../components/facts.tsx';
import { Status } from '../components/icons.tsx';
import { Empty, Fault, Skeleton, sentenceOf } from '../components/states.tsx';
import { ApiFault, type Query } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo, usePlace } from '../data/location.ts';
import { shortId, useKeyNames, useMemberNames } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { count, duration, useTimes } from '../data/time.ts';

/** Parses the query of the rejected requests screen from the URL. */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** An absent parameter means the whole retention period. */
export const PERIODS = { '': 'Seven days', day: '24 hours', hour: 'One hour' } as const;
export type Period = keyof typeof PERIODS;
const HOURS = { '': null, day: 24, hour: 1 } as const satisfies Readonly<Record<Period, number | null>>;

export const periodOf = (query: URLSearchParams): Period => {
  const asked = query.get('period') ?? '';
  return Object.hasOwn(PERIODS, asked) ? (asked as Period) : '';
};

/** Filter parameters and their labels. */
export const FILTERS = { code: 'error', key_id: 'key', member_id: 'member', path: 'path', status: 'status' } as const;
export type Filter = keyof typeof FILTERS;

/** The query of the API. */
export const useRefusedQuery = (): Query => {
  const { query } = usePlace();
  const period = periodOf(query);
  const since = useMemo(() => {
    const hours = HOURS[period];
    if (hours === null) return null;
    return new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - hours * HOUR_MS).toISOString();
  }, [period]);
  const filters = (Object.keys(FILTERS) as Filter[]).map((name) => [name, query.get(name)] as const);
  return { ...Object.fromEntries(filters), since: query.get('since') ?? since, until: query.get('until') };
};

type Principal = Pick<SerializedRefusedRequest, 'key_id' | 'member_id' | 'auditor_id'>;

/** Names of the keys and members that may be listed, by id. */
export const usePrincipalNames = (): ReadonlyMap<string, string> => new Map([...useKeyNames(), ...useMemberNames()]);

export const principalIdOf = ({ key_id, member_id, auditor_id }: Principal): string =>
  key_id ?? member_id ?? auditor_id ?? '';

/** The sender of the request as a row shows it. */
export const principalOf = (principal: Principal, names: ReadonlyMap<string, string>): string => {
  const id = principalIdOf(principal);
  return names.get(id) ?? (id.startsWith('aud_') ? 'an auditor' : shortId(id));
};

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
const RefusedBody = ({ body, problems }: RefusedBodyProps): JSX.Element => (
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
      {body.formatted && 'Sent as one line, formatted here. '}
      {body.cut && 'The rest is cut off. '}
      Texts are replaced by <code>***</code> and not stored.
    </p>
  </>
);

const placeOf = ({ line, column }: Problem, isOneLine: boolean): string | null => {
  if (line === null || column === null) return null;
  return isOneLine ? `column ${count(column)}` : `line ${count(line)}, column ${count(column)}`;
};

const Problems = ({ refused }: { readonly refused: ShownRefusedRequest }): JSX.Element => (
  <ul class="rqfields" aria-label="What is wrong">
    {refused.problems.map((problem, index) => {
      const place = placeOf(problem, refused.body?.formatted === true);
      return (
        <li key={index}>
          <Prose text={problem.sentence} />
          <small class="muted">
            {place}
            {problem.pointer !== null && (
              <>
                {place !== null && ', '}
                <code>{problem.pointer}</code>
              </>
            )}
          </small>
        </li>
      );
    })}
  </ul>
);

/** Explains why the body is not stored. */
const NoBody = ({ refused }: { readonly refused: ShownRefusedRequest }): JSX.Element => {
  const isWithheld = useStore(session)?.contents === false;
  if (isWithheld) return <p class="muted">Your role cannot see request bodies. Ask an owner for access.</p>;
  if (refused.count > 1) {
    return (
      <p class="muted">
        {count(refused.count)} requests like this within a minute are counted together, without their bodies.
      </p>
    );
  }
  return <p class="muted">The request had no body, or it was not read.</p>;
};

const Rail = ({ refused, who }: { readonly refused: ShownRefusedRequest; readonly who: string }): JSX.Element => {
  const times = useTimes();
  const { key_id: keyId, client_address: address, user_agent: agent } = refused;
  return (
    <Facts>
      <Fact name="Request">
        <CopyField text={refused.id} name="the id" />
      </Fact>
      <Fact name={keyId === null ? 'Sent by' : 'Key'}>
        {keyId === null ? (
          <bdi>{who}</bdi>
        ) : (
          <a class="lnk" href={linkTo(`/keys/${keyId}`)}>
            <bdi>{who}</bdi>
          </a>
        )}
      </Fact>
      <Fact name="Endpoint">
        <code>
          {refused.method} {refused.path}
        </code>
      </Fact>
      <Fact name="Time">{times.full(refused.at)}</Fact>
      <Fact name="Duration">{duration(refused.duration_ms)}</Fact>
      {address !== null && (
        <Fact name="From">
          <code>{address}</code>
        </Fact>
      )}
      {agent !== null && (
        <Fact name="User agent">
          <bdi>{agent}</bdi>
        </Fact>
      )}
    </Facts>
  );
};

/** Shown if there is no record. The request may have been accepted. */
const Missing = ({ id }: { readonly id: string }): JSX.Element => (
  <Empty
    icon="search"
    title="Refused request not found"
    actions={
      <a class="btn" href={linkTo('/messages', { request_id: id, period: 'all' })}>
        Messages from this request
      </a>
    }
  >
    <code>{id}</code> was not refused, was refused more than seven days ago, or was counted together with others.
  </Empty>
);

interface RefusalProps {
  readonly id: string;
  readonly names: ReadonlyMap<string, string>;
}

/** A rejected request: what is wrong and where, what to do, and what was sent. */
export const Refusal = ({ id, names }: RefusalProps): JSX.Element => {
  const { data: refused, error, isPlaceholderData } = useResource<ShownRefusedRequest>({ path: `/v1/requests/${id}` });
  if (error instanceof ApiFault && error.status === 404) return <Missing id={id} />;
  if (error !== null) return <Fault error={error} />;
  if (refused === undefined) return <Skeleton rows={3} />;
  return (
    <div class={`rq ${isPlaceholderData ? 'dim' : ''}`}>
      <h2>
        <code>{refused.code}</code>
        <Status state="failed" word={String(refused.status)} />
      </h2>
      <p class="b">
        <Prose text={sentenceOf(refused.message)} />
      </p>
      {refused.problems.length > 0 && <Problems refused={refused} />}
      <p class="muted">
        <Prose text={refused.meaning} /> <Prose text={refused.remedy} />{' '}
        <a class="lnk" href="/docs#errors" target="_blank" rel="noopener">
          All errors
        </a>
      </p>
      {refused.body === null ? (
        <NoBody refused={refused} />
      ) : (
        <RefusedBody body={refused.body} problems={refused.problems} />
      )}
      <Rail refused={refused} who={principalOf(refused, names)} />
    </div>
  );
};
