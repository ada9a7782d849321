import { Readable } from 'node:stream';
import { z } from 'zod';
import { type AddSuppression, addSuppressions } from '../../../commands/suppression.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { SuppressionEvidence } from '../../../domain/ports/contents.ts';
import { SUPPRESSION_REASONS } from '../../../domain/suppression/events.ts';
import { type ExistingSuppression, isInForce } from '../../../domain/suppression/suppression.ts';
import { mapConcurrently, type System } from '../../../lib/async/async.ts';
import { canonicalAddress } from '../../../lib/mime/mime.ts';
import { bodyOf } from '../../bodies.ts';
import { type CsvRecord, readCsv, unescapeFormula, writeCsv } from '../../csv.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import { problemsIn } from '../../problems.ts';
import { readYourWrites } from '../../reading.ts';
import { recordReading } from '../../readings.ts';
import {
  addressField,
  loadEvidence,
  suppressionFields,
  suppressionImportSchema,
  topicProblem,
} from './add-suppressions.ts';
import { visibleDomain, visibleSuppressions } from './suppressions.ts';

/** The suppression list as a CSV file: what the export writes, the import reads. */

/** A valid row. */
interface SuppressionRow {
  /** Line in the file, from 1. */
  readonly line: number;
  readonly row: Omit<AddSuppression, 'environment'>;
}

interface RowProblem {
  readonly line: number;
  readonly message: string;
}

/** Each costs a read and an append. More take longer than clients wait. */
const SUPPRESSION_ROWS_MAX = 10_000;

const rowSchema = z.strictObject({
  address: addressField(),
  reason: z.enum(SUPPRESSION_REASONS).default('import'),
  ...suppressionFields,
});
const SUPPRESSION_COLUMNS = ['address', 'scope', 'reason', 'expires_at', 'note', 'topic_id'] as const;
type Column = (typeof SUPPRESSION_COLUMNS)[number];

const refuse = (problem: string): DomainError =>
  new DomainError('invalid_request', 'the request is invalid: see details', { details: { csv: [`csv ${problem}`] } });

const isColumn = (name: string): name is Column => (SUPPRESSION_COLUMNS as readonly string[]).includes(name);

/** @throws {DomainError} `invalid_request`: the first row does not name columns. */
const columnsOf = (header: CsvRecord | undefined): readonly Column[] => {
  const names = (header?.fields ?? []).map((name) => name.trim().toLowerCase());
  const columns = names.filter(isColumn);
  if (columns.length < names.length) {
    throw refuse(`must have only these columns, named in its first row: ${SUPPRESSION_COLUMNS.join(', ')}`);
  }
  if (!columns.includes('address')) throw refuse('must name the column address in its first row');
  if (new Set(columns).size < columns.length) throw refuse('must not have two columns with the same name');
  return columns;
};

const readRow = ({ line, fields }: CsvRecord, columns: readonly Column[], now: string): SuppressionRow | RowProblem => {
  if (fields.length > columns.length) return { line, message: 'has more fields than the first row' };
  const cells = columns.map((column, index) => [column, unescapeFormula((fields[index] ?? '').trim())] as const);
  const said = Object.fromEntries(cells.filter(([, cell]) => cell !== ''));
  const { data, error } = rowSchema.safeParse(said);
  if (error !== undefined) {
    const sentences = problemsIn(error.issues, said, 'body').map(([, sentence]) => sentence);
    return { line, message: sentences.join('; ') };
  }
  const { expires_at: expiresAt, note, topic_id: topicId, ...rest } = data;
  const topic = topicProblem(rest.scope, topicId);
  if (topic !== null) return { line, message: topic };
  if (expiresAt !== null && expiresAt <= now) return { line, message: 'expires_at must be in the future' };
  return { line, row: { ...rest, ...(topicId === undefined ? {} : { topicId }), expiresAt, text: note } };
};

/** Reports rows that repeat an address, reason and scope; the first counts. */
const withoutRepeats = (read: readonly (SuppressionRow | RowProblem)[]) => {
  const lines = new Map<string, number>();
  return read.map((each): SuppressionRow | RowProblem => {
    if (!('row' in each)) return each;
    const { line, row } = each;
    const key = `${canonicalAddress(row.address)}\n${row.reason}\n${row.scope}\n${row.topicId ?? ''}`;
    const first = lines.get(key);
    if (first !== undefined) return { line, message: `repeats the address, reason and scope of line ${first}` };
    lines.set(key, line);
    return each;
  });
};

/**
 * Reads a file row by row, in turns with other requests.
 * @throws {DomainError} `invalid_request`: the file as a whole is invalid.
 */
export const readSuppressionRows = async (
  csv: string,
  system: Pick<System, 'monotonicMs' | 'now'>,
): Promise<{ readonly rows: readonly SuppressionRow[]; readonly problems: readonly RowProblem[] }> => {
  const records = await readCsv(csv);
  if (typeof records === 'string') throw refuse(records);
  const [header, ...body] = records;
  const columns = columnsOf(header);
  if (body.length > SUPPRESSION_ROWS_MAX) throw refuse(`must have at most ${SUPPRESSION_ROWS_MAX} rows`);
  const now = system.now().toISOString();
  const read = withoutRepeats(
    await mapConcurrently(body, { system, concurrency: 1 }, (record) => readRow(record, columns, now)),
  );
  return {
    rows: read.filter((each) => 'row' in each),
    problems: read.filter((each) => 'message' in each),
  };
};

/** Fits ten thousand rows with short notes. Longer lists need several files. */
const BODY_BYTES_MAX = 1_000_000;
/** At most as many characters as bytes. */
const CSV_CHARACTERS_MAX = BODY_BYTES_MAX;
/** Ten thousand rows at some hundred appends a second. */
const DEADLINE_MS = 120_000;

const body = z.strictObject({
  csv: z
    .string()
    .min(1)
    .max(CSV_CHARACTERS_MAX)
    .describe(
      `The CSV file as text, at most ${SUPPRESSION_ROWS_MAX} rows. Its first row names the columns: \`address\`, and optionally \`scope\`, ` +
        '`reason`, `expires_at`, `note` and, for scope `topic`, `topic_id`.',
    ),
});

const IMPORT_DESCRIPTION = `Suppresses the addresses of a CSV file: an export of this service, or a file from a spreadsheet (RFC 4180; separated by
commas, semicolons or tabs). Invalid rows are reported with their line; all other rows are imported. The import is not
one transaction: after a 503 or a lost connection, some rows may already be on the list. Repeat the request; rows that
are already on the list are counted as unchanged.`;

export const importSuppressionsRoute = endpoint(
  'POST /v1/suppressions/import',
  {
    summary: 'Import suppressions from CSV',
    description: IMPORT_DESCRIPTION,
    body,
    examples: {
      'Addresses only': { csv: 'address\nann@example.net\nbob@example.org\n' },
      'All columns': {
        csv: 'address,scope,reason,expires_at,note\r\nann@example.net,bulk,unsubscribe,2099-12-31T23:59:59Z,"From the old list, 2025"\r\n',
      },
    },
    answer: suppressionImportSchema,
    bounds: bodyOf(BODY_BYTES_MAX),
    deadlineMs: DEADLINE_MS,
  },
  async ({ caller: { environment }, origin, body: { csv } }, { deps: { context } }) => {
    const { rows, problems } = await readSuppressionRows(csv, context.system);
    const results = await addSuppressions(
      context,
      origin,
      rows.map(({ row }) => ({ ...row, environment })),
    );
    const refused = results.flatMap((result, index) =>
      result instanceof DomainError ? [{ line: rows[index]?.line ?? 0, message: result.message }] : [],
    );
    const imported = results.filter((result) => !(result instanceof DomainError) && result.added).length;
    const rejected = [...problems, ...refused].toSorted((left, right) => left.line - right.line);
    return {
      object: 'suppression_import',
      imported,
      unchanged: results.length - imported - refused.length,
      refused: rejected.length,
      problems: rejected,
    };
  },
);

const EXPORT_DESCRIPTION = `Returns all active entries as CSV (RFC 4180), one row per reason, in no particular order. Columns:
\`${SUPPRESSION_COLUMNS.join(', ')}\`. You can import this file unchanged. An apostrophe precedes cells that a spreadsheet
would read as a formula. Erased addresses are omitted. A key with only \`send\` or \`read\` gets only entries that messages
of its own domain caused.`;

const rowsOf = (
  { entries }: ExistingSuppression,
  evidence: ReadonlyMap<string, SuppressionEvidence>,
  now: string,
): readonly (readonly string[])[] =>
  entries
    .filter((entry) => isInForce(entry, now))
    .flatMap(({ scope, topicId = '', reason, expiresAt, contentId }) => {
      const { address = null, text = null } = evidence.get(contentId) ?? {};
      return address === null ? [] : [[address, scope, reason, expiresAt ?? '', text ?? '', topicId]];
    });

export const exportSuppressionsRoute = (route: RouteContext): void => {
  const { deps, closing, largeAnswers } = route;
  const { contents, system } = deps.context;

  /** Reads a page once the client has taken the one before: memory holds one page. */
  async function* pages(by: Parameters<typeof deps.readModels.suppressions.export>[0]): AsyncGenerator<string> {
    yield writeCsv([SUPPRESSION_COLUMNS]);
    let after: string | null = null;
    do {
      closing.throwIfAborted();
      const page: { readonly items: readonly ExistingSuppression[]; readonly next: string | null } =
        await deps.readModels.suppressions.export({ ...by, after });
      const items = await visibleSuppressions(deps, by.domainId, page.items);
      const evidence = await loadEvidence(
        contents,
        items.flatMap(({ entries }) => entries),
      );
      const rows = items.flatMap((state) => rowsOf(state, evidence, by.now));
      if (rows.length > 0) yield writeCsv(rows);
      after = page.next;
    } while (after !== null);
  }

  defineEndpoint(
    route,
    'GET /v1/suppressions/export',
    {
      summary: 'Export suppressions as CSV',
      description: EXPORT_DESCRIPTION,
      answer: z.string(),
      mediaType: 'text/csv',
    },
    async ({ caller, origin, request, reply }) => {
      const { organizationId, environment } = caller;
      largeAnswers.beginExport(organizationId, reply);
      await readYourWrites(deps, ['suppressions']);
      await recordReading(deps, { origin, request }, { what: 'suppressions', subjectId: null });
      reply.type('text/csv; charset=utf-8');
      reply.header('content-disposition', 'attachment; filename="suppressions.csv"');
      const now = system.now().toISOString();
      return Readable.from(
        pages({ organizationId, environment, now, domainId: await visibleDomain(deps, caller), after: null }),
      );
    },
  );
};
