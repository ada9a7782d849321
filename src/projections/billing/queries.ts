import type { Database } from '../database.ts';

export interface Usage {
  readonly billableRecipients: number;
  /** Days in UTC that have any, in order. */
  readonly byDay: readonly { readonly date: string; readonly billableRecipients: number }[];
  /** When the last event that has been counted in happened (ISO 8601); null: none yet. */
  readonly countedUpTo: string | null;
}

const USAGE = `
  select to_char(u.day, 'YYYY-MM-DD') as date, u.billable_recipients::float8 as billable, c.occurred_at
  from read_models.checkpoints c
  left join read_models.billing_days u
    on u.organization_id = $1 and u.day >= $2::date and u.day < $3::date and u.billable_recipients <> 0
  where c.name = 'billing'
  order by u.day`;

interface Row {
  readonly date: string | null;
  readonly billable: number | null;
  readonly occurred_at: Date | null;
}

/** Live recipients accepted in [start, end), which are dates `2026-11-01`; suppressed and failed ones are free. */
export const billingUsage = async (
  db: Database,
  by: { readonly organizationId: string; readonly start: string; readonly end: string },
): Promise<Usage> => {
  const values = [by.organizationId, by.start, by.end];
  const { rows } = await db.query<Row>({ name: 'billing-usage', text: USAGE, values });
  const byDay = rows.flatMap(({ date, billable }) =>
    date === null ? [] : [{ date, billableRecipients: billable ?? 0 }],
  );
  return {
    billableRecipients: byDay.reduce((sum, { billableRecipients }) => sum + billableRecipients, 0),
    byDay,
    countedUpTo: rows[0]?.occurred_at?.toISOString() ?? null,
  };
};
