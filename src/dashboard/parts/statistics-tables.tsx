import type { JSX } from 'preact';
import { withParameters } from '../data/location.ts';
import { DIMENSIONS, type Dimension, type Stats } from '../data/statistics.ts';
import { count, duration, percent } from '../data/time.ts';

/** Statistics as tables. */

export type Totals = Stats['totals'];
type Group = NonNullable<Stats['groups']>[number];

export const shareOf = (share: number | null | undefined): string =>
  share === null || share === undefined ? '–' : percent(share);
export const timeOrDash = (ms: number | undefined): string => (ms === undefined ? '–' : duration(ms));

const OTHERS = '(other)';
const valuesOf = ({ group }: Group, groupBy: readonly Dimension[]): readonly string[] =>
  typeof group === 'string' ? [group] : groupBy.map((name) => group?.[name] ?? '');

interface GroupTableProps {
  readonly groups: readonly Group[];
  readonly groupBy: readonly Dimension[];
  nameOf(dimension: Dimension, value: string): string;
}

/** Totals per group. The name of a group narrows the screen to it. */
export const GroupTable = ({ groups, groupBy, nameOf }: GroupTableProps): JSX.Element => {
  const most = Math.max(1, ...groups.map(({ accepted = 0 }) => accepted));
  return (
    <table>
      <thead>
        <tr>
          <th>{groupBy.map((name) => DIMENSIONS[name]).join(', ')}</th>
          <th class="r">Accepted</th>
          <th class="r">Delivered</th>
          <th class="r">Bounced</th>
          <th class="r hide-s">p90</th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => {
          const values = valuesOf(group, groupBy);
          const isOne = values.every((value) => value !== '' && value !== OTHERS && !value.startsWith('(expired '));
          const named = values.map((value, index) => nameOf(groupBy[index] ?? 'domain', value)).join(' · ');
          const narrowed = Object.fromEntries(groupBy.map((name, index) => [name, values[index]]));
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
              <td class="r num">{count(group.accepted ?? 0)}</td>
              <td class="r num">{shareOf(group.rates.delivered)}</td>
              <td class="r num">{shareOf(group.rates.bounced)}</td>
              <td class="r num hide-s">{timeOrDash(group.latency_ms?.p90)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
};

const METRICS = [
  ['accepted', 'Accepted'],
  ['delivered', 'Delivered'],
  ['deferred', 'Deferred at least once'],
  ['bounced', 'Bounced'],
  ['failed', 'Failed'],
  ['expired', 'Expired'],
  ['suppressed', 'Suppressed'],
  ['cancelled', 'Cancelled'],
  ['opened', 'Opened'],
  ['clicked', 'Clicked'],
  ['complained', 'Complained'],
  ['unsubscribed', 'Unsubscribed'],
] as const;

const rateOf = ({ rates }: Totals, name: string): string => {
  const rate = (rates as Readonly<Record<string, number | null | undefined>>)[name];
  return rate === undefined ? '' : shareOf(rate);
};

const changeOf = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? 'as before' : 'new';
  const change = (now - before) / before;
  return change === 0 ? 'as before' : `${change > 0 ? '+' : '−'}${percent(Math.abs(change))}`;
};

/** Cells for the previous period. */
const beforeOf = (now: Totals, before: Totals | undefined, name: (typeof METRICS)[number][0]): readonly string[] => {
  if (before === undefined) return ['–', '', ''];
  const [is, was] = [now[name] ?? 0, before[name] ?? 0];
  return [count(was), rateOf(before, name), changeOf(is, was)];
};

/** Every outcome and rate, compared with the previous period. */
export const ComparedTable = ({ now, before }: { readonly now: Totals; readonly before: Totals | undefined }) => (
  <table>
    <thead>
      <tr>
        <th>Recipients</th>
        <th class="r">In this time</th>
        <th class="r">Share</th>
        <th class="r">Period before</th>
        <th class="r hide-s">Share</th>
        <th class="r hide-s">Change</th>
      </tr>
    </thead>
    <tbody>
      {METRICS.map(([name, word]) => {
        const [was, share, change] = beforeOf(now, before, name);
        return (
          <tr key={name}>
            <td class="b">{word}</td>
            <td class="r num">{count(now[name] ?? 0)}</td>
            <td class="r num">{rateOf(now, name)}</td>
            <td class="r num">{was}</td>
            <td class="r num hide-s">{share}</td>
            <td class="r num hide-s">{change}</td>
          </tr>
        );
      })}
    </tbody>
  </table>
);
