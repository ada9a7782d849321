import type { ComponentChildren, JSX } from 'preact';
import type { SerializedRefusedRequestCounts } from '../../http/schemas/refused-request.ts';
import { usePlace, withParameters } from '../data/location.ts';
import { principalIdOf, principalOf } from '../data/refused-requests.ts';
import { count } from '../data/time.ts';

/** Shows this many counts. The list contains the rest. */
const SHOWN = 5;

interface BarProps {
  /** Share of the largest count, 0 to 1. */
  readonly share: number;
  readonly value: number;
  /** Sets the filter or removes it. */
  readonly href: string;
  readonly isChosen: boolean;
  readonly children: ComponentChildren;
}

const Bar = ({ share, value, href, isChosen, children }: BarProps): JSX.Element => (
  <li>
    <a href={href} {...(isChosen && { 'aria-current': 'true' })}>
      <span class="ell">{children}</span>
      <span class="num b">{count(value)}</span>
      <i>
        <b style={{ width: `${Math.max(1, share * 100)}%` }} />
      </i>
    </a>
  </li>
);

interface CountsProps {
  readonly counts: SerializedRefusedRequestCounts;
  readonly names: ReadonlyMap<string, string>;
}

const ByCode = ({ codes }: Pick<SerializedRefusedRequestCounts, 'codes'>): JSX.Element => {
  const asked = usePlace().query.get('code');
  return (
    <section class="card" aria-label="By error">
      <header>
        <h2>By error</h2>
      </header>
      <ul class="rqbars">
        {codes.slice(0, SHOWN).map(({ code, status, count: value }) => (
          <Bar
            key={code}
            share={value / (codes[0]?.count ?? 1)}
            value={value}
            href={withParameters({ code: code === asked ? null : code, request: null })}
            isChosen={code === asked}
          >
            <code>{code}</code> <small class="muted">{status}</small>
          </Bar>
        ))}
      </ul>
      {codes.length > SHOWN && <p class="pad muted">And {count(codes.length - SHOWN)} further errors.</p>}
    </section>
  );
};

const ByPrincipal = ({ counts: { principals }, names }: CountsProps): JSX.Element => {
  const { query } = usePlace();
  const asked = query.get('key_id') ?? query.get('member_id');
  return (
    <section class="card" aria-label="By key">
      <header>
        <h2>By key</h2>
      </header>
      <ul class="rqbars">
        {principals.slice(0, SHOWN).map((principal) => {
          const id = principalIdOf(principal);
          const filter = { key_id: principal.key_id, member_id: principal.member_id };
          return (
            <Bar
              key={id}
              share={principal.count / (principals[0]?.count ?? 1)}
              value={principal.count}
              href={withParameters({ ...(id === asked ? { key_id: null, member_id: null } : filter), request: null })}
              isChosen={id === asked}
            >
              <bdi>{principalOf(principal, names)}</bdi>{' '}
              {principal.key_id === null && <small class="muted">in the dashboard</small>}
            </Bar>
          );
        })}
      </ul>
      {principals.length > SHOWN && <p class="pad muted">And {count(principals.length - SHOWN)} further ones.</p>}
    </section>
  );
};

/** Number of rejected requests by error and by sender. Each count filters the list. */
export const RefusalCounts = ({ counts, names }: CountsProps): JSX.Element => (
  <div class="halves rqhalves">
    <ByCode codes={counts.codes} />
    <ByPrincipal counts={counts} names={names} />
  </div>
);
