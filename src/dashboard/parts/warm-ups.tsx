import type { JSX } from 'preact';
import type { SerializedWarmUp } from '../../http/schemas/warm-up.ts';
import { request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import type { NamedResource } from '../data/names.ts';
import { useRead } from '../data/queries.ts';
import { count } from '../data/time.ts';
import { Status } from './icons.tsx';

/** Limits how many domains have their warm-up read: each takes one request. */
const WARM_UPS_MAX = 20;

/** Domains in warm-up, with the volume each provider received today. */
export const WarmUps = ({ domains }: { readonly domains: readonly NamedResource[] }): JSX.Element | null => {
  const read = domains.slice(0, WARM_UPS_MAX);
  const { data = [] } = useRead(['warm-ups', read.map(({ id }) => id)], (signal) =>
    Promise.all(read.map(({ id }) => request<SerializedWarmUp>(`/v1/domains/${id}/warm-up`, { signal }))),
  );
  const running = data.filter(({ status }) => status === 'running');
  if (running.length === 0) return null;
  const names = new Map(domains.map(({ id, name }) => [id, name]));
  return (
    <section class="card" aria-label="Warm-up">
      <header>
        <h2>Warm-up</h2>
        <span class="muted">New domains that send a little more each day</span>
      </header>
      <ul>
        {running.map(({ domain_id: id, day, plan, recipients_max: most, today }) => (
          <li class="susp" key={id}>
            <Status state="scheduled" word={`Day ${day} of ${plan.length}`} />
            <span>
              <a class="lnk" href={linkTo(`/domains/${id}`)}>
                <bdi>{names.get(id) ?? id}</bdi>
              </a>
              <small class="muted">
                {today.length === 0
                  ? 'nothing sent today'
                  : today.map(({ destination, recipients }) => `${destination} ${count(recipients)}`).join(', ')}
              </small>
            </span>
            <span class="num">{count(most ?? 0)} a day and provider</span>
          </li>
        ))}
      </ul>
    </section>
  );
};
