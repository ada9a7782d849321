import type { JSX } from 'preact';
import { Fault } from '../components/states.tsx';
import { withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { definitionOf, shareOf } from '../data/rates.ts';
import { count } from '../data/time.ts';
import type { Outcome } from '../messages/outcome-words.ts';
import { DIMENSIONS, type Dimension, messagesBehind, type StatisticsSearch, type Stats, statsQuery } from './data.ts';
import { Linked, timeOrDash } from './plots.tsx';

/** Statistics by group. */

type Group = NonNullable<Stats['groups']>[number];

const valuesOf = ({ group }: Group, groupBy: readonly Dimension[]): readonly string[] =>
  typeof group === 'string' ? [group] : groupBy.map((name) => group?.[name] ?? '');

const OTHERS = '(other)';
const isExpired = (value: string): boolean => value.startsWith('(expired ');
/** True if the messages of a group can be listed by its value. */
const isListed = (value: string): boolean => value !== '' && value !== OTHERS && !isExpired(value);

/** Says why groups have no list of messages, one sentence for each reason. */
const unlistedIn = (groups: readonly Group[], groupBy: readonly Dimension[]): readonly string[] => {
  const values = groups.map((group) => valuesOf(group, groupBy));
  const without = groupBy.filter((_, index) => values.some((one) => one[index] === ''));
  const all = values.flat();
  return [
    ...without.map((name) => `Messages without a ${DIMENSIONS[name].toLowerCase()} are counted, but cannot be listed.`),
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
          const isOne = values.every(isListed);
          const named = values.map((value, index) => nameOf(groupBy[index] ?? 'domain', value)).join(' · ');
          const narrowed: Readonly<Partial<Record<Dimension, string>>> = Object.fromEntries(
            groupBy.map((name, index) => [name, values[index]]),
          );
          const behind = (outcome: Outcome) =>
            isOne ? messagesBehind(search, { since: stats.from, until: stats.to, outcome, group: narrowed }) : null;
          return (
            <tr key={values.join('\n')}>
              <td class="b">
                {isOne ? (
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
