import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { namesOfMembers } from '../../../commands/member.ts';
import { loadOrganization } from '../../../commands/organization.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { RecordedEvent } from '../../../domain/kernel/event-store.ts';
import type { FoundLeaf } from '../../../domain/ports/audit-trees.ts';
import { inclusionRanges } from '../../../lib/transparency/transparency.ts';
import { acceptedIn } from '../../accept.ts';
import { readYourWrites } from '../../consistency.ts';
import { writeCsv } from '../../csv.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { membersIn } from '../../serialize/explain/explain-actor.ts';
import { actorSentence, type Report, reportRows } from '../../serialize/reports/report.ts';
import { REPORT_POLICY, reportHtml } from '../../serialize/reports/report-html.ts';
import { reportPdf } from '../../serialize/reports/report-pdf.ts';
import { readRequestFacts } from '../api-keys/request-facts.ts';

/** Each event's proof costs a query and about 2 ms. Higher: slow reports that are too long to read. */
export const EVENTS_MAX = 150;

const MEDIA_TYPES = {
  json: 'application/json',
  html: 'text/html',
  csv: 'text/csv',
  pdf: 'application/pdf',
} as const;
type Format = keyof typeof MEDIA_TYPES;
const FORMATS = Object.keys(MEDIA_TYPES) as [Format, ...Format[]];

export const reportQuery = z.strictObject({
  format: z.enum(FORMATS).optional().describe('Default: according to `Accept`, otherwise `json`.'),
});

export const OTHER_MEDIA_TYPES = [MEDIA_TYPES.html, MEDIA_TYPES.csv, MEDIA_TYPES.pdf];

const formatOf = ({ headers }: FastifyRequest, asked: Format | undefined): Format => {
  if (asked !== undefined) return asked;
  const [wanted] = acceptedIn(headers.accept).flatMap((type) => FORMATS.filter((each) => MEDIA_TYPES[each] === type));
  return wanted ?? 'json';
};

/** The report in the requested format. @param asked undefined: use `Accept`. */
export const answerReport = (
  request: FastifyRequest,
  reply: FastifyReply,
  report: Report,
  asked: Format | undefined,
): unknown => {
  const format = formatOf(request, asked);
  reply.header('vary', 'accept');
  if (format === 'json') return report;
  reply.header('content-disposition', `inline; filename="${report.id}.${format}"`);
  if (format === 'pdf') {
    reply.type(MEDIA_TYPES.pdf);
    return reportPdf(report);
  }
  reply.type(`${MEDIA_TYPES[format]}; charset=utf-8`);
  if (format === 'csv') return writeCsv(reportRows(report));
  reply.header('content-security-policy', REPORT_POLICY).header('x-frame-options', 'DENY');
  return reportHtml(report);
};

/** The organization that the report belongs to. */
export const organizationFact = async (
  { context }: HttpDependencies,
  { organizationId }: Caller,
): Promise<Report['facts'][number]> => {
  const { organization } = await loadOrganization(context, organizationId);
  return { name: 'Organization', value: `${organization.settings.name} (${organizationId})` };
};

export interface DescribedEvent {
  readonly event: RecordedEvent;
  readonly sentence: string;
}

type Place = Pick<Report['events'][number], 'leaf_index' | 'proof'>;

/** An event's index in the tree, and its proof in the first `size` leaves. */
const placeOf = async (
  { readModels: { audit } }: HttpDependencies,
  tree: string,
  found: FoundLeaf | undefined,
  size: number,
): Promise<Place> => {
  if (found === undefined || found.index >= size) return { leaf_index: found?.index ?? null, proof: null };
  const hashes = await audit.hashes(tree, inclusionRanges(found.index, size));
  return {
    leaf_index: found.index,
    proof: { leaf: found.leaf, hashes: hashes.map((hash) => hash.toString('base64')) },
  };
};

/** Events with who did them, where they are in the log, and their proofs. */
export const eventsAndCheckpoint = async (
  deps: HttpDependencies,
  caller: Caller,
  told: readonly DescribedEvent[],
): Promise<Pick<Report, 'events' | 'checkpoint'>> => {
  const tree = caller.organizationId;
  await readYourWrites(deps, ['audit']);
  const contexts = told.map(({ event }) => event.metadata);
  const facts = await readRequestFacts(deps, caller, contexts);
  const people = await namesOfMembers(deps.context, tree, membersIn(contexts.map(({ actor }) => actor)));
  const [checkpoint] = await deps.readModels.audit.checkpoints({ tree, limit: 1 });
  const places = await deps.readModels.audit.findAll(
    tree,
    told.map(({ event }) => event.id),
  );
  const events: Report['events'] = [];
  for (const { event, sentence } of told) {
    const { id, type, metadata } = event;
    events.push({
      at: metadata.occurredAt,
      sentence,
      by: actorSentence(metadata, { last4: facts.secretLast4(metadata), people }),
      address: facts.address(metadata),
      request_id: metadata.requestId,
      type,
      event_id: id,
      ...(await placeOf(deps, tree, places.get(id), checkpoint?.size ?? 0)),
    });
  }
  if (checkpoint === undefined) return { events, checkpoint: null };
  const { size, note, vkey, signedAt } = checkpoint;
  return { events, checkpoint: { size, note, verifier_key: vkey, signed_at: signedAt } };
};

export const ABOUT_REPORTS =
  'For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with ' +
  'proofs that each event is in the signed log. The PDF contains the proofs as an attachment.';
