import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readWholeStream } from '../../../commands/execute.ts';
import { namesOfMembers } from '../../../commands/member.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { describeKey } from '../../../domain/audit/report/key-sentences.ts';
import { describeMessage } from '../../../domain/audit/report/message-sentences.ts';
import { isNaming, membersIn } from '../../../domain/audit/report/words.ts';
import type { RecordedEvent } from '../../../domain/kernel/event-store.ts';
import { messageStream, organizationStream, sendingDomainStream } from '../../../domain/kernel/streams.ts';
import type { LoadedContents } from '../../../domain/ports/contents.ts';
import { acceptedIn } from '../../../lib/http/http.ts';
import { writeCsv } from '../../csv.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { readYourWrites } from '../../reading.ts';
import { recordReading } from '../../readings.ts';
import type { KeyHistoryEvent } from '../api-keys/key-events.ts';
import { readKeyHistory, readKeyLife } from '../api-keys/key-history.ts';
import { quotedIn, type RecordedMessageEvent } from '../messages/explain/explanation.ts';
import { loadMessage } from '../messages/messages.ts';
import { REPORT_POLICY, type Report, reportHtml, reportPdf, reportRows, reportSchema } from './report.ts';
import { eventsAndCheckpoint } from './report-events.ts';

/** Each event's proof costs a query and about 2 ms. Higher: slow reports that are too long to read. */
const EVENTS_MAX = 150;

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

const ABOUT_REPORTS =
  'For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with ' +
  'proofs that each event is in the signed log. The PDF contains the proofs as an attachment.';

type MakingSecret = Extract<KeyHistoryEvent, { readonly type: 'KeyCreated' | 'KeyRotated' }>;

const isMakingSecret = (event: KeyHistoryEvent): event is MakingSecret =>
  event.type === 'KeyCreated' || event.type === 'KeyRotated';

/** Newest secrets that a report includes. */
const SECRETS_MAX = 100;

/** Messages sent with each secret that an event created. @param made oldest first. */
const sendsOf = async (
  deps: HttpDependencies,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
  made: readonly MakingSecret[],
): Promise<Report['sends']> => {
  const first = Math.max(1, made.length - SECRETS_MAX + 1);
  await readYourWrites(deps, ['messages']);
  const sent = await deps.readModels.apiKeys.sends({ organizationId, keyId: id, from: first, to: made.length });
  return made
    .slice(first - 1)
    .map(({ data }, index) => {
      const sends = sent.get(first + index);
      return {
        secret: first + index,
        last4: data.secret.last4,
        messages: sends?.messages ?? 0,
        recipients: sends?.recipients ?? 0,
        first_at: sends?.firstAt.toISOString() ?? null,
        last_at: sends?.lastAt.toISOString() ?? null,
      };
    })
    .reverse();
};

/** Events that name the organization and a domain, oldest first. */
const eventsNaming = async (
  { context: { store } }: HttpDependencies,
  { organizationId }: Caller,
  domainId: string,
): Promise<readonly RecordedEvent[]> => {
  const ofOrganization = await readWholeStream(store, organizationStream(organizationId));
  const ofDomain = await readWholeStream(store, sendingDomainStream(domainId));
  return [...ofOrganization.filter(isNaming), ...ofDomain.filter(({ type }) => type === 'DomainRegistered')];
};

const keyReport = async (deps: HttpDependencies, caller: Caller, id: string): Promise<Report> => {
  const { store, system } = deps.context;
  const { key, life } = await readKeyLife(store, caller, id);
  const { happenings, next } = await readKeyHistory(store, caller, { id, limit: EVENTS_MAX, place: null });
  const own = life.map(({ event }) => event);
  const named = await eventsNaming(deps, caller, key.domainId);
  const now = system.now().toISOString();
  const derivedFrom = [...named, ...own];
  const { title, facts, sentenceOf } = describeKey(derivedFrom, id, now);
  const described = happenings.map(({ event }) => ({ event, sentence: sentenceOf(event) })).reverse();
  return {
    object: 'audit_report',
    type: 'api_key',
    id,
    title,
    made_at: now,
    as_of: null,
    facts: [...facts],
    access: [],
    sends: await sendsOf(deps, { id, organizationId: caller.organizationId }, own.filter(isMakingSecret)),
    left_out:
      next === null ? null : `Only the last ${EVENTS_MAX} events are shown. GET /v1/audit/log?key_id=${id} lists all.`,
    ...(await eventsAndCheckpoint(deps, caller, { described, derivedFrom, names: new Map() })),
  };
};

export const getKeyReportRoute = endpoint(
  'GET /v1/audit/reports/api-keys/:id',
  {
    summary: 'Get the report of an API key',
    description: ABOUT_REPORTS,
    query: reportQuery,
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHER_MEDIA_TYPES,
    large: true,
  },
  async ({ caller, id, query: { format }, request, reply }, { deps }) =>
    answerReport(request, reply, await keyReport(deps, caller, id), format),
);

/** A longer history is cut in the middle: it keeps this many first events and fills the rest with the last. */
const FIRST_EVENTS = 50;

const boundedTo = (all: readonly RecordedMessageEvent[]): readonly RecordedMessageEvent[] =>
  all.length <= EVENTS_MAX ? all : [...all.slice(0, FIRST_EVENTS), ...all.slice(FIRST_EVENTS - EVENTS_MAX)];

/** Addresses, replies and links that the sentences of a report name, by the id of the recipient, the reply or the link. */
const namesIn = (contents: LoadedContents): ReadonlyMap<string, string> =>
  new Map(
    [...contents].flatMap(([id, head]): readonly (readonly [string, string])[] => {
      if (head.kind === 'message') return head.recipients.map((recipient) => [recipient.id, recipient.address]);
      if (head.kind === 'reply') return [[id, head.text]];
      return head.kind === 'link' ? [[id, head.url]] : [];
    }),
  );

/** A report, and whether it contains contents of mail. */
const messageReport = async (
  deps: HttpDependencies,
  caller: Caller,
  id: string,
): Promise<{ readonly report: Report; readonly hasContents: boolean }> => {
  const { message } = await loadMessage(deps, caller, id);
  const { context } = deps;
  // The stream of a message holds message events only.
  const all = (await readWholeStream(context.store, messageStream(id))) as readonly RecordedMessageEvent[];
  const happenings = boundedTo(all);
  const contents = await context.contents.heads(quotedIn(message, happenings));
  const actors = all.map(({ metadata }) => metadata.actor);
  const people = await namesOfMembers(context, caller.organizationId, membersIn(actors));
  const names = new Map([...namesIn(contents), ...people]);
  const derivedFrom = [...(await eventsNaming(deps, caller, message.accepted.domainId)), ...all];
  const { title, facts, sentenceOf } = describeMessage(derivedFrom, id, names);
  const described = happenings.map((event) => ({ event, sentence: sentenceOf(event) }));
  const head = contents.get(message.accepted.contentId);
  const subject = head?.kind === 'message' ? [{ name: 'Subject', value: head.subject }] : [];
  const report: Report = {
    object: 'audit_report',
    type: 'message',
    id,
    title,
    made_at: context.system.now().toISOString(),
    as_of: null,
    facts: [...facts, ...subject],
    access: [],
    sends: [],
    left_out:
      happenings.length === all.length
        ? null
        : `Only the first ${FIRST_EVENTS} and the last ${EVENTS_MAX - FIRST_EVENTS} of ${all.length} events are shown. ` +
          `GET /v1/messages/${id}/events lists all.`,
    ...(await eventsAndCheckpoint(deps, caller, { described, derivedFrom, names })),
  };
  return { report, hasContents: contents.size > 0 };
};

export const getMessageReportRoute = endpoint(
  'GET /v1/audit/reports/messages/:id',
  {
    summary: 'Get the report of a message',
    description: `${ABOUT_REPORTS} While its contents are stored, it shows addresses and the subject, and reading it is recorded.`,
    query: reportQuery,
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHER_MEDIA_TYPES,
    large: true,
  },
  async ({ caller, id, query: { format }, origin, request, reply }, { deps }) => {
    const { report, hasContents } = await messageReport(deps, caller, id);
    if (hasContents) await recordReading(deps, { origin, request }, { what: 'message_content', subjectId: id });
    return answerReport(request, reply, report, format);
  },
);
