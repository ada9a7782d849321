import type { JSX } from 'preact';
import type { ShownRefusedRequest } from '../../http/schemas/refused-request.ts';
import { ApiFault } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { principalOf } from '../data/refused-requests.ts';
import { useStore } from '../data/store.ts';
import { count, duration, useTimes } from '../data/time.ts';
import { CopyField, Fact, Facts } from './facts.tsx';
import { Status } from './icons.tsx';
import { Prose } from './prose.tsx';
import { RefusedBody } from './refused-body.tsx';
import { Empty, Fault, Skeleton } from './states.tsx';

type Problem = ShownRefusedRequest['problems'][number];

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
  if (isWithheld)
    return <p class="muted">Your role sees no bodies. An owner can allow it, or give you another role.</p>;
  if (refused.count > 1) {
    return (
      <p class="muted">{count(refused.count)} requests like this within a minute are counted, without their bodies.</p>
    );
  }
  return <p class="muted">It had no body, or none that was read.</p>;
};

const Rail = ({ refused, who }: { readonly refused: ShownRefusedRequest; readonly who: string }): JSX.Element => {
  const times = useTimes();
  const { key_id: keyId, client_address: address, user_agent: agent } = refused;
  return (
    <Facts>
      <Fact name="Request">
        <CopyField text={refused.id} name="the id" />
      </Fact>
      <Fact name={keyId === null ? 'Asked by' : 'Key'}>
        {keyId === null ? (
          <bdi>{who}</bdi>
        ) : (
          <a class="lnk" href={linkTo(`/keys/${keyId}`)}>
            <bdi>{who}</bdi>
          </a>
        )}
      </Fact>
      <Fact name="Asked for">
        <code>
          {refused.method} {refused.path}
        </code>
      </Fact>
      <Fact name="At">{times.full(refused.at)}</Fact>
      <Fact name="Took">{duration(refused.duration_ms)}</Fact>
      {address !== null && (
        <Fact name="From">
          <code>{address}</code>
        </Fact>
      )}
      {agent !== null && (
        <Fact name="Program">
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
    title="No such refusal"
    actions={
      <a class="btn" href={linkTo('/messages', { request_id: id, period: 'all' })}>
        Messages of this request
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
        <Prose text={refused.message} />
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
