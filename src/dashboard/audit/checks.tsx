import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { AuditCheckpoint, AuditEntry, AuditProof } from '../../http/resources/audit/checkpoints.ts';
import { IfAllowed } from '../components/action.tsx';
import { Icon, Mark, Pill } from '../components/icons.tsx';
import { Download } from '../components/screen.tsx';
import { Fault } from '../components/states.tsx';
import { ApiFault, request } from '../data/api.ts';
import { reloadChanged, useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { type Check, canCheck, checkLog, checkProof, forgetTrustedLog, type LogCheck } from './verification.ts';

/** Shows proofs of the audit log, verified in this browser. */

type Computation<T> = { readonly state: 'busy' } | { readonly state: 'done'; readonly value: T } | Failure;
interface Failure {
  readonly state: 'failed';
  readonly error: Error;
}

/** Runs a computation again whenever one of the values in `by` changes. */
const useComputation = <T,>(find: () => Promise<T> | null, by: readonly unknown[]): Computation<T> => {
  const [found, setFound] = useState<Computation<T>>({ state: 'busy' });
  useEffect(() => {
    let isWanted = true;
    const show = (next: Computation<T>): void => void (isWanted && setFound(next));
    setFound({ state: 'busy' });
    find()?.then(
      (value) => show({ state: 'done', value }),
      (error: unknown) => show({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) }),
    );
    return () => {
      isWanted = false;
    };
  }, by);
  return found;
};

const CANNOT = 'This browser cannot check signatures here. Open the dashboard over HTTPS or on localhost.';

const Unchecked = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault ? (
    <Fault error={error} />
  ) : (
    <p class="muted">{canCheck() ? `This browser could not run the check: ${error.message}.` : CANNOT}</p>
  );

const Checks = ({ checks }: { readonly checks: readonly Check[] }): JSX.Element => (
  <ol>
    {checks.map(({ holds, sentence, detail }) => (
      <li key={sentence} class={holds ? '' : 'wrong'}>
        <Mark state={holds ? 'delivered' : 'bounced'} />
        <div>
          {sentence}
          <small class="mono">{detail}</small>
        </div>
      </li>
    ))}
  </ol>
);

const SignNow = (): JSX.Element => {
  const [error, setError] = useState<Error | null>(null);
  const sign = async (): Promise<void> => {
    try {
      await request('/v1/audit/checkpoints', { method: 'POST' });
      await reloadChanged();
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
  };
  return (
    <>
      <IfAllowed operation="POST /v1/audit/checkpoints">
        <button type="button" class="btn small" onClick={() => void sign()}>
          Sign now
        </button>
      </IfAllowed>
      {error !== null && <Fault error={error} />}
    </>
  );
};

/** The newest signed checkpoint. */
export const useNewest = () =>
  useResource<List<AuditCheckpoint>>({ path: '/v1/audit/checkpoints', query: { limit: 1 }, everyMs: 60_000 });

const Verdict = ({ checks }: { readonly checks: readonly Check[] }): JSX.Element =>
  checks.every(({ holds }) => holds) ? (
    <Pill state="delivered" word="Verified here" />
  ) : (
    <Pill state="bounced" word="Invalid" />
  );

const Unproved = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault && error.code === 'not_signed_yet' ? (
    <p class="muted">
      No signed checkpoint covers this entry yet. A new one is signed every minute. <SignNow />
    </p>
  ) : (
    <Fault error={error} />
  );

interface ProofProps {
  readonly entry: AuditEntry;
  readonly newest: AuditCheckpoint | undefined;
}

/** Proves that an entry is part of the signed log. */
export const Proof = ({ entry, newest }: ProofProps): JSX.Element => {
  const path = `/v1/audit/proof/${entry.event_id}`;
  const { data: proof, error, isPlaceholderData } = useResource<AuditProof>({ path });
  const own = proof !== undefined && !isPlaceholderData && newest !== undefined ? proof : null;
  const found = useComputation(
    () => (own === null ? null : checkProof(own, entry, newest?.verifier_key ?? '')),
    [own?.checkpoint, own?.event_id, newest?.verifier_key],
  );
  const checks = found.state === 'done' ? found.value : [];
  return (
    <section class="proof" aria-label="Proof">
      <div class="titled">
        <h2>Proof</h2>
        <span class="sp" />
        {checks.length > 0 && <Verdict checks={checks} />}
      </div>
      {error !== null && <Unproved error={error} />}
      {found.state === 'failed' && <Unchecked error={found.error} />}
      <Checks checks={checks} />
      {own !== null && (
        <Download
          word="Download proof"
          path={path}
          accept="text/plain"
          name={`${entry.event_id}.tlog-proof`}
          tone="small"
        />
      )}
    </section>
  );
};

const Intact = ({ value }: { readonly value: LogCheck }): JSX.Element => {
  const times = useTimes();
  const { kept, size, cosigners } = value;
  return (
    <span>
      <b class="b">The log is intact.</b>{' '}
      {kept === null
        ? `The newest signed checkpoint covers ${count(size)} entries. This is the first visit from this browser: it has stored the key and this checkpoint for later checks.`
        : `This browser verified the newest checkpoint of ${count(size)} entries: it is signed by the key known since ${times.short(kept.keyKeptAt)} and extends the checkpoint of ${times.short(kept.noteKeptAt)}.`}{' '}
      {cosigners.length > 0 && `Cosigned by ${cosigners.join(', ')} (not verified here).`}
    </span>
  );
};

const Broken = ({ value, origin }: { readonly value: LogCheck; readonly origin: string }): JSX.Element => (
  <>
    <span>
      <b class="b">This is not the log that this browser knows.</b> Keep your exports and checkpoints, and contact the
      operator.
      <Checks checks={value.checks} />
    </span>
    <button
      type="button"
      class="btn small"
      onClick={() => {
        forgetTrustedLog(origin);
        location.reload();
      }}
    >
      Forget the stored log
    </button>
  </>
);

/** Shows whether the log is consistent with the one this browser saw before. */
export const LogState = ({ newest }: { readonly newest: AuditCheckpoint }): JSX.Element => {
  const found = useComputation(() => checkLog(newest), [newest.note]);
  const times = useTimes();
  if (found.state === 'busy') return <div class="chain waiting flex" role="status" />;
  if (found.state === 'failed') {
    return (
      <div class="chain mute flex" role="status">
        <Unchecked error={found.error} />
      </div>
    );
  }
  const isIntact = found.value.checks.every(({ holds }) => holds);
  return (
    <div class={`chain flex ${isIntact ? 'ok' : 'bad'}`} role="status">
      <Icon name={isIntact ? 'shield' : 'forbid'} />
      {isIntact ? <Intact value={found.value} /> : <Broken value={found.value} origin={newest.origin} />}
      <span class="sp" />
      <span class="muted hide-s">signed {times.short(newest.signed_at)}</span>
      {isIntact && <SignNow />}
    </div>
  );
};
