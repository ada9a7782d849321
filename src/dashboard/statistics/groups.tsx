import type { JSX } from 'preact';
import { Fault } from '../components/states.tsx';
import { withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { definitionOf, shareOf } from '../data/rates.ts';
import { count } from '../data/time.ts';
import type { Outcome } from '../messages/outcome-words.ts';
import {
  DIMENSIONS,
  type Dimension,
  messagesBehind,
  NO_TEMPLATE,
  type StatisticsSearch,
  type Stats,
  statsQuery,
} from './data.ts';
import { Linked, timeOrDash } from './plots.tsx';

/** Statistics by group. */

type Group = NonNullable<Stats['groups']>[number];

const valuesOf = ({ group }: Group, groupBy: readonly Dimension[]): readonly string[] =>
  typeof group === 'string' ? [group] : groupBy.map((name) => group?.[name] ?? '');

const OTHERS = '(other)';
const isExpired = (value: string): boolean => value.startsWith('(expired ');

type Narrowed = Readonly<Partial<Record<Dimension, string | null>>>;

/** The filter that selects a group. null: the group is what no filter leaves out. undefined: there is no filter. */
const filterFor = (dimension: Dimension, value: string): string | null | undefined => {
  if (value === OTHERS || isExpired(value)) return undefined;
  if (value !== '') return value;
  if (dimension === 'template') return NO_TEMPLATE;
  return dimension === 'bounce_class' ? null : undefined;
};

/** Filters that select a group; null: no filter can. */
const narrowedTo = (groupBy: readonly Dimension[], values: readonly string[]): Narrowed | null => {
  const filters = groupBy.map((name, index) => [name, filterFor(name, values[index] ?? '')] as const);
  return filters.some(([, value]) => value === undefined) ? null : Object.fromEntries(filters);
};

/** Bounces alone have a class: other outcomes are counted in the group without one. */
const isCounted = ({ bounce_class: bounceClass }: Narrowed, outcome: Outcome): boolean =>
  bounceClass === undefined || (bounceClass === null) === (outcome !== 'bounced');

/** Says why groups have no list of messages, one sentence for each reason. */
const unlistedIn = (groups: readonly Group[], groupBy: readonly Dimension[]): readonly string[] => {
  const values = groups.map((group) => valuesOf(group, groupBy));
  const all = values.flat();
  return [
    ...(all.includes(OTHERS) ? [`${OTHERS}: all groups after the 25 largest. Add a filter to see them.`] : []),
    ...(all.some(isExpired) ? ['(expired): the tag is no longer stored, so its messages cannot be listed.'] : []),
  ];
};

interface GroupTableProps {
  readonly search: StatisticsSearch;
  readonly stats: Stats;
  readonly groups: readonly Group[];
  nameOf(dimension: Dimension, value: string): string;
}

/** Totals per group. The name of a group narrows the screen to it. */
const GroupTable = ({ search, stats, groups, nameOf }: GroupTableProps): JSX.Element => {
  const { groupBy } = search;
  const most = Math.max(1, ...groups.map(({ accepted = 0 }) => accepted));
  return (
    <table>
      <thead>
        <tr>
          <th>{groupBy.map((name) => DIMENSIONS[name]).join(', ')}</th>
          <th class="r">Accepted</th>
          <th class="r">
            Delivered <small class="muted">{definitionOf('delivered')}</small>
          </th>
          <th class="r">
            Bounced <small class="muted">{definitionOf('bounced')}</small>
          </th>
          <th class="r hide-s">p90</th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => {
          const values = valuesOf(group, groupBy);
          const narrowed = narrowedTo(groupBy, values);
          const named = values.map((value, index) => nameOf(groupBy[index] ?? 'domain', value)).join(' · ');
          const behind = (outcome: Outcome) =>
            narrowed !== null && isCounted(narrowed, outcome)
              ? messagesBehind(search, { since: stats.from, until: stats.to, outcome, group: narrowed })
              : null;
          return (
            <tr key={values.join('\n')}>
              <td class="b">
                {narrowed !== null && Object.values(narrowed).some((value) => value !== null) ? (
                  <a class="lnk" href={withParameters(narrowed)} title="Show only these">
                    <bdi>{named}</bdi>
                  </a>
                ) : (
                  <bdi>{named}</bdi>
                )}
                <span class="mini" style={{ width: `${((group.accepted ?? 0) / most) * 100}%` }} />
              </td>
              <td class="r num">
                <Linked href={behind('accepted')}>{count(group.accepted ?? 0)}</Linked>
              </td>
              <td class="r num">
                <Linked href={behind('delivered')}>{shareOf(group.rates.delivered)}</Linked>
              </td>
              <td class="r num">
                <Linked href={behind('bounced')}>{shareOf(group.rates.bounced)}</Linked>
              </td>
              <td class="r num hide-s">
                <Linked href={group.latency_ms === null ? null : behind('delivered')}>
                  {timeOrDash(group.latency_ms?.p90)}
                </Linked>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
};

export interface GroupsProps {
  readonly search: StatisticsSearch;
  nameOf(dimension: Dimension, value: string): string;
}

/** Totals per group, and why some groups have no list of messages. */
export const Groups = ({ search, nameOf }: GroupsProps): JSX.Element | null => {
  const query = { ...statsQuery(search), group_by: search.groupBy.join(',') };
  const { data, error } = useResource<Stats>({ path: '/v1/stats', query });
  const groups = (data?.groups ?? []).filter(({ accepted = 0, bounced = 0 }) => accepted + bounced > 0);
  const [first = 'recipient_domain'] = search.groupBy;
  return (
    <section class="card" aria-label="Groups">
      <header>
        <h2>{search.groupBy.length > 1 ? 'Groups' : `By ${DIMENSIONS[first].toLowerCase()}`}</h2>
        <span class="sp" />
        <span class="muted">{groups.length === 1 ? '1 group' : `${groups.length} groups`}</span>
      </header>
      {error !== null && <Fault error={error} />}
      {data !== undefined && groups.length > 0 && (
        <div class="scroll">
          <GroupTable search={search} stats={data} groups={groups} nameOf={nameOf} />
        </div>
      )}
      {unlistedIn(groups, search.groupBy).map((sentence) => (
        <p key={sentence} class="pad muted">
          {sentence}
        </p>
      ))}
    </section>
  );
};
