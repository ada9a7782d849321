import { Readable } from 'node:stream';
import { z } from 'zod';
import type { SuppressionEvidence } from '../../../domain/ports/contents.ts';
import { type ExistingSuppression, isInForce } from '../../../domain/suppression/suppression.ts';
import { readYourWrites } from '../../consistency.ts';
import { writeCsv } from '../../csv.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { loadEvidence } from '../../schemas/suppression.ts';
import { SUPPRESSION_COLUMNS } from './import-suppressions.ts';

const DESCRIPTION = `All that is in force, in no order, as CSV (RFC 4180) with the columns \`${SUPPRESSION_COLUMNS.join(', ')}\`: a row for each
reason. The import takes it as it is. A cell that a spreadsheet would take for a formula has an apostrophe in front.
Addresses that were erased are not in it. An answer that breaks off is not the whole list.`;

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
  const { deps, closing } = route;
  const { contents, system } = deps.context;

  /** Reads a page once the client has taken the one before: memory holds one page. */
  async function* pages(by: Parameters<typeof deps.readModels.suppressions.export>[0]): AsyncGenerator<string> {
    yield writeCsv([SUPPRESSION_COLUMNS]);
    let after: string | null = null;
    do {
      closing.throwIfAborted();
      const page: { readonly items: readonly ExistingSuppression[]; readonly next: string | null } =
        await deps.readModels.suppressions.export({ ...by, after });
      const evidence = await loadEvidence(
        contents,
        page.items.flatMap(({ entries }) => entries),
      );
      const rows = page.items.flatMap((state) => rowsOf(state, evidence, by.now));
      if (rows.length > 0) yield writeCsv(rows);
      after = page.next;
    } while (after !== null);
  }

  defineEndpoint(
    route,
    'GET /v1/suppressions/export',
    {
      summary: 'Export all suppressed addresses as CSV',
      description: DESCRIPTION,
      answer: z.string(),
      mediaType: 'text/csv',
    },
    async ({ caller: { organizationId, environment }, reply }) => {
      await readYourWrites(deps, ['suppressions']);
      reply.type('text/csv; charset=utf-8');
      reply.header('content-disposition', 'attachment; filename="suppressions.csv"');
      const now = system.now().toISOString();
      return Readable.from(pages({ organizationId, environment, now, after: null }));
    },
  );
};
