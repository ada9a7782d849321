import { z } from 'zod';
import { writeCsv } from '../../http/csv.ts';
import { checked, type Service, ServiceRefused } from '../customer/service.ts';
import { type DomainRow, keyOf, type Row, type SuppressionRow, type TemplateRow } from './rows.ts';

/** Imports rows into a running service and counts the results. */

/** Rows per request, which append for a few seconds. More: longer waits and more to repeat after a failure. */
const ROWS_PER_REQUEST = 1_000;
/** The first problems are reported, the rest only counted. */
const PROBLEMS_TOLD_MAX = 100;

type What = 'suppressions' | 'templates' | 'domains';

export interface Counts {
  added: number;
  unchanged: number;
  skipped: number;
}

/** Position of a record. Exports of APIs have all records on one line, so the line alone is not enough. */
export interface Place {
  /** Number of the record in the file, from 1. */
  readonly record: number;
  /** Line where the record starts, from 1. */
  readonly line: number;
}

interface Problem extends Place {
  readonly reason: string;
}

export const createTally = () => {
  const counts: Record<What, Counts> = {
    suppressions: { added: 0, unchanged: 0, skipped: 0 },
    templates: { added: 0, unchanged: 0, skipped: 0 },
    domains: { added: 0, unchanged: 0, skipped: 0 },
  };
  const problems: Problem[] = [];
  let untold = 0;
  let others = 0;

  const tell = (problem: Problem): void => {
    if (problems.length < PROBLEMS_TOLD_MAX) problems.push(problem);
    else untold += 1;
  };
  return {
    counts,
    skip: (what: What | null, problem: Problem): void => {
      if (what === null) others += 1;
      else counts[what].skipped += 1;
      tell(problem);
    },
    result: (read: number, isDry: boolean) => ({
      dry_run: isDry,
      records: read,
      ...counts,
      skipped_otherwise: others,
      problems: problems.toSorted((one, other) => one.record - other.record),
      problems_not_told: untold,
    }),
  };
};

export type Tally = ReturnType<typeof createTally>;

interface NumberedRow<Of extends Row> {
  readonly place: Place;
  readonly row: Of;
}

interface Work {
  readonly tally: Tally;
  /** null for a dry run. */
  readonly service: Service | null;
}

export const sentence = ({ message, details }: ServiceRefused): string =>
  details.length === 0 ? message : details.join('; ');

/** Counts a record that the service rejects as skipped. */
const orSkip = async (tally: Tally, what: What, place: Place, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    // Problems with the key or the service affect all records, so they end the import.
    if (!(error instanceof ServiceRefused) || [401, 403].includes(error.status) || error.status >= 500) throw error;
    tally.skip(what, { ...place, reason: sentence(error) });
  }
};

const importedSchema = z.object({
  imported: z.number(),
  unchanged: z.number(),
  problems: z.array(z.object({ line: z.number(), message: z.string() })),
});

const CSV_COLUMNS = ['address', 'reason', 'scope', 'note'] as const;

const sendSuppressions = async (
  { tally, service }: Work,
  rows: readonly NumberedRow<SuppressionRow>[],
): Promise<void> => {
  const { counts } = tally;
  if (service === null) {
    counts.suppressions.added += rows.length;
    return;
  }
  const csv = writeCsv([CSV_COLUMNS, ...rows.map(({ row }) => CSV_COLUMNS.map((column) => row[column]))]);
  const { imported, unchanged, problems } = checked(
    importedSchema,
    await service.ask('POST', '/v1/suppressions/import', { body: { csv } }),
  );
  counts.suppressions.added += imported;
  counts.suppressions.unchanged += unchanged;
  for (const { line, message } of problems) {
    const place = rows[line - 2]?.place ?? { record: 0, line: 0 }; // the first line is the header
    tally.skip('suppressions', { ...place, reason: message });
  }
};

/** Batches suppressions into requests and reports duplicates. */
const createSuppressions = (work: Work) => {
  let pending: NumberedRow<SuppressionRow>[] = [];
  let records = new Map<string, number>();
  const flush = async (): Promise<void> => {
    const rows = pending;
    pending = [];
    records = new Map();
    if (rows.length > 0) await sendSuppressions(work, rows);
  };
  return {
    flush,
    add: async (place: Place, row: SuppressionRow): Promise<void> => {
      const first = records.get(keyOf(row));
      if (first !== undefined)
        return work.tally.skip('suppressions', { ...place, reason: `duplicate of record ${first}` });
      records.set(keyOf(row), place.record);
      pending.push({ place, row });
      if (pending.length >= ROWS_PER_REQUEST) await flush();
    },
  };
};

const templateSchema = z.object({ published_version: z.number().nullable() });

/** null if the template does not exist. */
const findTemplate = async (service: Service, alias: string) => {
  try {
    return checked(templateSchema, await service.ask('GET', `/v1/templates/${alias}`));
  } catch (error) {
    if (error instanceof ServiceRefused && error.status === 404) return null;
    throw error;
  }
};

/**
 * Creates and publishes a template, so that it can be used at once. An existing template stays unchanged unless it was
 * never published.
 */
const addTemplate = async ({ tally, service }: Work, { row: { body } }: NumberedRow<TemplateRow>): Promise<void> => {
  const { templates } = tally.counts;
  const found = service === null ? null : await findTemplate(service, body.alias);
  if (found !== null && found.published_version !== null) {
    templates.unchanged += 1;
    return;
  }
  if (found === null) await service?.ask('POST', '/v1/templates', { body });
  await service?.ask('POST', `/v1/templates/${body.alias}/publish`);
  templates.added += 1;
};

const addDomain = async ({ tally, service }: Work, { row: { name } }: NumberedRow<DomainRow>): Promise<void> => {
  const { domains } = tally.counts;
  try {
    await service?.ask('POST', '/v1/domains', { body: { name } });
    domains.added += 1;
  } catch (error) {
    if (!(error instanceof ServiceRefused) || error.status !== 409) throw error;
    domains.unchanged += 1;
  }
};

export const createImport = (work: Work) => {
  const { tally } = work;
  const suppressions = createSuppressions(work);
  return {
    flush: suppressions.flush,
    take: async (place: Place, row: Row): Promise<void> => {
      switch (row.kind) {
        case 'suppression':
          return suppressions.add(place, row);
        case 'template':
          return orSkip(tally, 'templates', place, () => addTemplate(work, { place, row }));
        case 'domain':
          return orSkip(tally, 'domains', place, () => addDomain(work, { place, row }));
        case 'skipped':
          return tally.skip(null, { ...place, reason: row.reason });
        default:
          return row satisfies never;
      }
    },
  };
};
