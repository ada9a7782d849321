import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { noteReading } from '../../../commands/audit.ts';
import { readWholeStream } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { inclusionRanges } from '../../../domain/audit/merkle-tree.ts';
import type { FoundLeaf } from '../../../domain/ports/audit-trees.ts';
import type { RecordedEvent } from '../../../domain/ports/event-store.ts';
import { messageStream } from '../../../domain/streams.ts';
import { acceptedIn } from '../../accept.ts';
import { readYourWrites } from '../../consistency.ts';
import { writeCsv } from '../../csv.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { explainEvent } from '../../serialize/explain/explain-event.ts';
import { createView, type Happening, listed, quotedIn } from '../../serialize/explain/explanation.ts';
import { keySentence } from '../../serialize/reports/key-sentences.ts';
import { actorSentence, type Report, reportRows, reportSchema } from '../../serialize/reports/report.ts';
import { REPORT_POLICY, reportHtml } from '../../serialize/reports/report-html.ts';
import { reportPdf } from '../../serialize/reports/report-pdf.ts';
import { readKeyHistory, readKeyLife } from '../api-keys/key-history.ts';
import { readRequestFacts } from '../api-keys/request-facts.ts';
import { loadMessage } from '../messages/messages.ts';

/** Each is looked up in the tree, some 5 ms. More is not read by anybody. */
const EVENTS_MAX = 150;
/** Of a longer life of a message the beginning, and the end with what is left. */
const FIRST_EVENTS = 50;

const MEDIA_TYPES = {
  json: 'application/json',
  html: 'text/html',
  csv: 'text/csv',
  pdf: 'application/pdf',
} as const;
type Format = keyof typeof MEDIA_TYPES;
const FORMATS = Object.keys(MEDIA_TYPES) as [Format, ...Format[]];

const query = z.strictObject({
  format: z.enum(FORMATS).optional().describe('Default: what `Accept` asks for, otherwise `json`.'),
});

const OTHERS = [MEDIA_TYPES.html, MEDIA_TYPES.csv, MEDIA_TYPES.pdf];

const formatOf = ({ headers }: FastifyRequest, asked: Format | undefined): Format => {
  if (asked !== undefined) return asked;
  const [wanted] = acceptedIn(headers.accept).flatMap((type) => FORMATS.filter((each) => MEDIA_TYPES[each] === type));
  return wanted ?? 'json';
};

const answer = (reply: FastifyReply, report: Report, format: Format): unknown => {
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

interface Told {
  readonly event: RecordedEvent;
  readonly sentence: string;
}

type Place = Pick<Report['events'][number], 'leaf_index' | 'proof'>;

/** Where an event is in the tree, and its proof in the first `size` leaves. */
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
const eventsAndCheckpoint = async (
  deps: HttpDependencies,
  caller: Caller,
  told: readonly Told[],
): Promise<Pick<Report, 'events' | 'checkpoint'>> => {
  const tree = caller.organizationId;
  await readYourWrites(deps, ['audit']);
  const contexts = told.map(({ event }) => event.metadata);
  const facts = await readRequestFacts(deps, caller, contexts);
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
      by: actorSentence(metadata, facts.secretLast4(metadata)),
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

const keyReport = async (deps: HttpDependencies, caller: Caller, id: string): Promise<Report> => {
  const { store, system } = deps.context;
  const { key, life } = await readKeyLife(store, caller, id);
  const { happenings, next } = await readKeyHistory(store, caller, { id, limit: EVENTS_MAX, place: null });
  const made = life.map(({ event }) => event).filter(({ type }) => type === 'KeyCreated' || type === 'KeyRotated');
  const numbers = new Map(made.map((event, index) => [event.id, index + 1]));
  const told = happenings
    .map(({ event }) => ({ event, sentence: keySentence(event, numbers.get(event.id) ?? 0) }))
    .reverse();
  return {
    object: 'audit_report',
    type: 'api_key',
    id,
    title: `What happened to API key ${id}`,
    made_at: system.now().toISOString(),
    facts: [
      { name: 'Key', value: id },
      { name: 'Name', value: key.name },
      { name: 'State', value: key.status },
      { name: 'For', value: `${key.environment} mail of domain ${key.domainId}` },
      { name: 'May', value: listed(key.permissions) },
      { name: 'Secrets so far', value: String(made.length) },
    ],
    left_out:
      next === null
        ? null
        : `Of many events these are the last ${EVENTS_MAX}; all are in GET /v1/audit/log?key_id=${id}.`,
    ...(await eventsAndCheckpoint(deps, caller, told)),
  };
};

const boundedTo = (all: readonly Happening[]): readonly Happening[] =>
  all.length <= EVENTS_MAX ? all : [...all.slice(0, FIRST_EVENTS), ...all.slice(FIRST_EVENTS - EVENTS_MAX)];

/** With what is said of it, and whether that holds contents. */
const messageReport = async (
  deps: HttpDependencies,
  caller: Caller,
  id: string,
): Promise<{ readonly report: Report; readonly hasContents: boolean }> => {
  const { message } = await loadMessage(deps, caller, id);
  const { context } = deps;
  // The stream of a message holds message events only.
  const all = (await readWholeStream(context.store, messageStream(id))) as readonly Happening[];
  const contents = await context.contents.heads(quotedIn(message, all));
  const view = createView(message, all, contents);
  const happenings = boundedTo(all);
  const told = happenings.map((event) => ({ event, sentence: explainEvent(event, view).sentence }));
  const head = contents.get(message.accepted.contentId);
  const words = head?.kind === 'message' ? [{ name: 'Subject', value: head.subject }] : [];
  const states = message.recipients.map((recipient) => ({
    name: `To ${view.nameOf([recipient.id])}`,
    value: recipient.status,
  }));
  const report: Report = {
    object: 'audit_report',
    type: 'message',
    id,
    title: `What happened to message ${id}`,
    made_at: context.system.now().toISOString(),
    facts: [
      { name: 'Message', value: id },
      { name: 'Message-ID', value: message.accepted.internetMessageId },
      { name: 'Sent by', value: `API key ${message.accepted.keyId}, from domain ${message.accepted.fromDomain}` },
      ...words,
      ...states,
    ],
    left_out:
      happenings.length === all.length
        ? null
        : `Of ${all.length} events these are the first ${FIRST_EVENTS} and the last ${EVENTS_MAX - FIRST_EVENTS}; all ` +
          `are in GET /v1/messages/${id}/events.`,
    ...(await eventsAndCheckpoint(deps, caller, told)),
  };
  return { report, hasContents: contents.size > 0 };
};

const ABOUT =
  'For people who have never seen this service: who did what, when, from where and with which secret, in sentences; with ' +
  'the proofs that it is in the signed log, which the PDF has as an attachment.';

export const getKeyReportRoute = endpoint(
  'GET /v1/audit/reports/api-keys/:id',
  {
    summary: 'Report what happened to an API key',
    description: ABOUT,
    query,
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHERS,
  },
  async ({ caller, id, query: { format }, request, reply }, { deps }) =>
    answer(reply, await keyReport(deps, caller, id), formatOf(request, format)),
);

export const getMessageReportRoute = endpoint(
  'GET /v1/audit/reports/messages/:id',
  {
    summary: 'Report what happened to a message',
    description: `${ABOUT} While its contents are kept it shows addresses and the subject, and that it was read is on record.`,
    query,
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHERS,
  },
  async ({ caller, id, query: { format }, origin, request, reply }, { deps }) => {
    const { report, hasContents } = await messageReport(deps, caller, id);
    if (hasContents) await noteReading(deps.context, origin, { what: 'message_content', subjectId: id });
    return answer(reply, report, formatOf(request, format));
  },
);
