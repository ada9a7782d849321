import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import { request } from '../data/api.ts';
import { client } from '../data/queries.ts';
import { createStore, useStore } from '../data/store.ts';
import { duration } from '../data/time.ts';

/** Checks a domain's DNS on demand and repeats the check while records are being published. */

const EVERY_MS = 10_000;
/** Every check is recorded in the audit log. After this many, the user must start again. */
const CHECKS_MAX = 12;

interface Asking {
  readonly domainId: string;
  readonly left: number;
  /** Time of the last result. */
  readonly answeredAt: number | null;
}

const asking = createStore<Asking | null>(null);

export interface Check {
  readonly error: Error | null;
  readonly isBusy: boolean;
  begin(): void;
}

const isDone = ({ records }: SerializedDomain): boolean =>
  records.every(({ required, status }) => !required || status !== 'pending');

export const useCheck = (domainId: string, domain: SerializedDomain | undefined): Check => {
  const now = useStore(asking);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (left: number): Promise<void> => {
    setBusy(true);
    try {
      const checked = await request<SerializedDomain>(`/v1/domains/${domainId}/verify`, { method: 'POST' });
      setError(null);
      asking.set(isDone(checked) ? null : { domainId, left, answeredAt: Date.now() });
      await client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('/v1/domains') });
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
      asking.set(null);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (now === null || now.left === 0 || domain === undefined) return;
    const timer = setTimeout(() => void ask(now.left - 1), EVERY_MS);
    return () => clearTimeout(timer);
  }, [now, domain === undefined]);
  useEffect(() => () => asking.set(null), [domainId]);
  return { error, isBusy, begin: () => void ask(CHECKS_MAX) };
};

const SECOND_MS = 1000;

/** Shows that a check is running and how old the last result is. */
export const Checking = (): JSX.Element | null => {
  const now = useStore(asking);
  const [, render] = useState({});
  useEffect(() => {
    const timer = setInterval(() => render({}), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  if (now === null || now.answeredAt === null || now.left === 0) return null;
  const agoMs = Math.floor((Date.now() - now.answeredAt) / SECOND_MS) * SECOND_MS;
  return (
    <span class="live" role="status">
      <i class="spin" />
      Asking the name servers every 10 s, last answer {duration(agoMs)} ago
    </span>
  );
};
