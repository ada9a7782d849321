/** A calendar month in UTC. */
export interface BillingPeriod {
  /** ISO 8601. */
  readonly start: string;
  readonly end: string;
}

/** @param month `2026-11`. */
export const billingPeriod = (month: string): BillingPeriod => {
  const start = new Date(`${month}-01T00:00:00.000Z`);
  const end = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1));
  return { start: start.toISOString(), end: end.toISOString() };
};

export const monthOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM'.length);

/** As the read model wants it. */
export const datesOf = ({ start, end }: BillingPeriod): { readonly start: string; readonly end: string } => ({
  start: start.slice(0, 'YYYY-MM-DD'.length),
  end: end.slice(0, 'YYYY-MM-DD'.length),
});
