import type { JSX } from 'preact';
import type { List } from '../../http/fields.ts';
import type { SerializedBilling, SerializedPlan, SerializedUsage } from '../../http/resources/billing.ts';
import { Action } from '../components/action.tsx';
import { Figure, Figures } from '../components/facts.tsx';
import { Icon } from '../components/icons.tsx';
import { type Bar, BarPlot, PlotCard } from '../components/plots.tsx';
import { ApiButton } from '../components/screen.tsx';
import { Fault, Skeleton } from '../components/states.tsx';
import { request, urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { BillingDetails } from './billing-details.tsx';
import { DAY_MS, Invoices, LOCALE, money } from './invoices.tsx';

/** A rate has up to this many decimals of the minor unit. Fewer: it would be rounded. */
const RATE_DIGITS_MAX = 12;

/** Formats a rate such as 12.5 as €0.125, without rounding it. */
const rateMoney = (minor: string, currency: string): string => {
  const digits =
    new Intl.NumberFormat(LOCALE, { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency, maximumFractionDigits: RATE_DIGITS_MAX });
  return format.format(Number(`${minor}e-${digits}`));
};

const termsOf = ({ price, currency, included, overage_per_1000: rate, hard_limit: limit }: SerializedPlan): string =>
  [
    `${money(price, currency)} a month`,
    included === null ? 'unlimited recipients' : `${count(included)} recipients included`,
    ...(included === null || Number(rate) === 0 ? [] : [`${rateMoney(rate, currency)} for each 1,000 more`]),
    ...(limit === null ? [] : [`at most ${count(limit)}, then sends are rejected`]),
  ].join(', ');

const ChoosePlan = ({ current }: { readonly current: SerializedPlan }): JSX.Element | null => {
  const { data } = useResource<List<SerializedPlan>>({ path: '/v1/billing/plans' });
  const plans = data?.data ?? [];
  if (plans.every(({ id }) => id === current.id)) return null;
  const choose = async (form: FormData): Promise<undefined> => {
    await request('/v1/billing/plan', { method: 'PUT', body: { plan: form.get('plan') } });
  };
  return (
    <Action
      word="Choose a plan"
      operation="PUT /v1/billing/plan"
      icon="sliders"
      tone="plain"
      title="Choose a plan"
      act={choose}
    >
      <p class="two">
        A plan that lowers neither the price, the rate, the included recipients nor the limit applies at once, and its
        price applies to all of today (UTC). Any other plan applies from tomorrow (UTC).
      </p>
      {plans.map((plan) => (
        <label class="opt" key={plan.id}>
          <input type="radio" name="plan" value={plan.id} defaultChecked={plan.id === current.id} required />
          <span>
            <bdi>{plan.name}</bdi>
            <small>{termsOf(plan)}</small>
          </span>
        </label>
      ))}
    </Action>
  );
};

const MONTHS_SHOWN = 12;

/** The current month and those before it, as `2026-11`. */
const lastMonths = (): readonly string[] => {
  const now = new Date();
  return Array.from({ length: MONTHS_SHOWN }, (_, index) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index, 1)).toISOString().slice(0, 7),
  );
};

const barsOf = ({ period, by_day: days }: SerializedUsage): readonly Bar[] => {
  const counted = new Map(days.map(({ date, billable_recipients: recipients }) => [date, recipients]));
  const [start, end] = [Date.parse(period.start), Date.parse(period.end)];
  return Array.from({ length: Math.round((end - start) / DAY_MS) }, (_, index) => {
    const since = new Date(start + index * DAY_MS).toISOString();
    const date = since.slice(0, 10);
    return {
      key: date,
      label: date.slice(8),
      title: `${date}, UTC`,
      parts: [{ name: 'billable', plot: 'plot-delivered', value: counted.get(date) ?? 0 }],
      before: null,
      href: linkTo('/messages', { since, until: new Date(start + (index + 1) * DAY_MS).toISOString() }),
      linkWord: 'View messages from this day',
    };
  });
};

const Usage = (): JSX.Element => {
  const { query } = usePlace();
  const [current = ''] = lastMonths();
  const month = query.get('period') ?? current;
  const { data, error, refetch } = useResource<SerializedUsage>({
    path: '/v1/billing/usage',
    query: { period: month },
  });
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton rows={4} />;
  const bars = barsOf(data);
  const table = (
    <table>
      <thead>
        <tr>
          <th>Day, UTC</th>
          <th class="r">Billable recipients</th>
        </tr>
      </thead>
      <tbody>
        {bars.map(({ key, href, parts }) => (
          <tr key={key}>
            <td>
              <a class="lnk" href={href}>
                {key}
              </a>
            </td>
            <td class="r num">{count(parts[0]?.value ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
  const legend = (
    <>
      <span>{count(data.billable_recipients)} billable recipients</span>
      <label class="btn small choice">
        <Icon name="clock" />
        <span class="vh">Month</span>
        <select value={month} onChange={(event) => navigate(withParameters({ period: event.currentTarget.value }))}>
          {[...new Set([month, ...lastMonths()])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </>
  );
  const shown = new Set((query.get('tables') ?? '').split(',').filter((name) => name !== ''));
  const title = 'Usage by day';
  const plot = <BarPlot bars={bars} label={title} />;
  return <PlotCard name="usage" title={title} shown={shown} legend={legend} plot={plot} table={table} />;
};

const leftOf = ({ quota }: SerializedBilling): string => {
  if (quota === null) return 'unlimited';
  return quota.remaining === 0 && quota.hard ? 'none: sends are rejected' : count(quota.remaining);
};

const Period = ({ billing }: { readonly billing: SerializedBilling }): JSX.Element => {
  const times = useTimes();
  const { plan, next_plan: next, usage, quota, period } = billing;
  const counted = usage.counted_up_to;
  return (
    <Figures>
      <Figure name="Plan" value={<bdi>{plan.name}</bdi>}>
        {money(plan.price, plan.currency)} a month
        {next !== null && (
          <>
            ; <bdi>{next.plan.name}</bdi> from {next.applies_from} (UTC)
          </>
        )}
      </Figure>
      <Figure name="Used this month" plot="plot-delivered" value={count(usage.billable_recipients)}>
        {plan.included === null ? 'billable recipients' : `of ${count(plan.included)} included`}
      </Figure>
      <Figure name="Remaining" value={leftOf(billing)}>
        {quota === null ? 'no quota' : `of ${count(quota.limit)}${quota.hard ? ', then rejected' : ', then charged'}`}
      </Figure>
      <Figure name="Ends" value={times.date(Date.parse(period.end) - DAY_MS)}>
        at midnight, UTC
      </Figure>
      <Figure name="Counted up to" value={counted === null ? '–' : times.clock(counted)}>
        {counted === null ? 'nothing accepted yet' : times.date(counted)}
      </Figure>
    </Figures>
  );
};

/** Usage, costs and invoices, with the events behind each line. */
export const Billing = (): JSX.Element => {
  const { data, error, refetch } = useResource<SerializedBilling>({ path: '/v1/billing', everyMs: 60_000 });
  const period = usePlace().query.get('period');
  return (
    <>
      <div class="head">
        <div>
          <h1>Billing</h1>
          <p class="sub">{data === undefined ? 'Usage, plan and invoices' : termsOf(data.plan)}</p>
        </div>
        <div class="acts">
          <ApiButton
            requests={['/v1/billing', urlOf('/v1/billing/usage', { period }), '/v1/billing/invoices?limit=24']}
          />
          <BillingDetails />
          {data !== undefined && <ChoosePlan current={data.plan} />}
        </div>
      </div>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data !== undefined && <Period billing={data} />}
      <Usage />
      <h2 class="apart">Invoices</h2>
      <Invoices />
    </>
  );
};
