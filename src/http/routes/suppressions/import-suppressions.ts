import { z } from 'zod';
import { addSuppressions } from '../../../commands/suppression/add-suppressions.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { suppressionImportShape } from '../../schemas/suppression.ts';
import { readSuppressionRows, SUPPRESSION_ROWS_MAX } from './read-suppression-rows.ts';

/** Ten thousand rows of addresses and short notes. What is longer comes in several files. */
const BODY_BYTES_MAX = 1_000_000;
/** Whatever takes more than a byte takes it of the body. */
const CSV_CHARACTERS_MAX = BODY_BYTES_MAX;
/** As many rows at some hundred appends a second. */
const DEADLINE_MS = 120_000;

const body = z.strictObject({
  csv: z
    .string()
    .min(1)
    .max(CSV_CHARACTERS_MAX)
    .describe(
      `The file as text, ${SUPPRESSION_ROWS_MAX} rows at most. Its first row names the columns: \`address\`, and as wanted \`scope\`, ` +
        '`reason`, `expires_at` and `note`.',
    ),
});

const DESCRIPTION = `Takes what the export gives, and what spreadsheets make (RFC 4180; semicolons and tabs do as well as commas). A row that
cannot be taken is told by its line, and the others are taken. It is not one transaction: where no answer comes, or a 503,
some rows may be on the list; send the same again, and what is there already counts as unchanged.`;

export const importSuppressionsRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  defineEndpoint(
    route,
    'POST /v1/suppressions/import',
    {
      summary: 'Put the addresses of a CSV file on the list',
      description: DESCRIPTION,
      body,
      examples: {
        'A few addresses': { csv: 'address\nann@example.net\nbob@example.org\n' },
        'All columns': {
          csv: 'address,scope,reason,expires_at,note\r\nann@example.net,bulk,unsubscribe,2099-12-31T23:59:59Z,"From the old list, 2025"\r\n',
        },
      },
      answer: suppressionImportShape,
      bounds: bodyOf(BODY_BYTES_MAX),
      deadlineMs: DEADLINE_MS,
    },
    async ({ caller: { environment }, origin, body: { csv } }) => {
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
      const told = [...problems, ...refused].toSorted((left, right) => left.line - right.line);
      return {
        ...{ object: 'suppression_import', imported, unchanged: results.length - imported - refused.length },
        ...{ refused: told.length, problems: told },
      };
    },
  );
};
