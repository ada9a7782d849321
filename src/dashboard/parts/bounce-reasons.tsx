import type { JSX } from 'preact';
import { BOUNCE_REASONS } from '../data/bounce-reasons.ts';
import { linkTo } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { count } from '../data/time.ts';
import type { Stats } from './outcome-bars.tsx';
import { Fault } from './states.tsx';

const SHOWN = 5;

/** Bounces per class, summed over all buckets. */
const countsOf = ({ data }: Stats): readonly (readonly [string, number])[] => {
  const counts = new Map<string, number>();
  for (const { group, bounced = 0 } of data) {
    if (typeof group === 'string' && bounced > 0) counts.set(group, (counts.get(group) ?? 0) + bounced);
  }
  return [...counts].sort(([, left], [, right]) => right - left);
};

interface BounceReasonsProps {
  /** ISO 8601. */
  readonly since: string;
  /** Parameters of the message list for the same period. */
  readonly period: string;
}

/** Parameters of `GET /v1/stats`. */
export const bouncesQuery = (since: string) => ({
  from: since,
  granularity: 'day',
  metrics: 'bounced',
  group_by: 'bounce_class',
});

/** Reasons for bounces, most frequent first. */
export const BounceReasons = ({ since, period }: BounceReasonsProps): JSX.Element => {
  const stats = useResource<Stats>({ path: '/v1/stats', query: bouncesQuery(since), everyMs: 30_000 });
  const reasons = stats.data === undefined ? [] : countsOf(stats.data);
  const all = reasons.reduce((sum, [, bounced]) => sum + bounced, 0);
  const most = reasons[0]?.[1] ?? 1;
  return (
    <section class="card" aria-label="Why mail bounced">
      <header>
        <h2>Why mail bounced</h2>
        <span class="sp" />
        {all > 0 && (
          <a class="lnk" href={linkTo('/messages', { status: 'bounced', period })}>
            All {count(all)}
          </a>
        )}
      </header>
      {stats.error !== null && <Fault error={stats.error} retry={() => void stats.refetch()} />}
      <div class="pad">
        <ul class="why3">
          {reasons.slice(0, SHOWN).map(([reason, bounced]) => (
            <li key={reason}>
              <a class="lnk" href={linkTo('/messages', { bounce_class: reason, period })}>
                {BOUNCE_REASONS[reason] ?? 'For another reason'}
              </a>
              <span class="num b">{count(bounced)}</span>
              <i>
                <b style={{ width: `${Math.max(1, (bounced / most) * 100)}%` }} />
              </i>
            </li>
          ))}
        </ul>
        {stats.data !== undefined && all === 0 && <p class="muted">Nothing bounced.</p>}
        {reasons.length > SHOWN && <p class="muted">And {reasons.length - SHOWN} further reasons.</p>}
      </div>
    </section>
  );
};
