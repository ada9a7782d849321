import { noteReading } from '../../../commands/audit.ts';
import { readWholeStream } from '../../../commands/execute.ts';
import { namesOfMembers } from '../../../commands/member.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { byWhom, membersIn } from '../../serialize/explain/explain-actor.ts';
import { explainEvent } from '../../serialize/explain/explain-event.ts';
import { createView, quotedIn, type RecordedMessageEvent } from '../../serialize/explain/explanation.ts';
import { type Report, reportSchema } from '../../serialize/reports/report.ts';
import { loadMessage } from '../messages/messages.ts';
import {
  ABOUT_REPORTS,
  answerReport,
  EVENTS_MAX,
  eventsAndCheckpoint,
  OTHER_MEDIA_TYPES,
  organizationFact,
  reportQuery,
} from './reports.ts';

/** A longer history is cut in the middle: it keeps this many first events and fills the rest with the last. */
const FIRST_EVENTS = 50;

const boundedTo = (all: readonly RecordedMessageEvent[]): readonly RecordedMessageEvent[] =>
  all.length <= EVENTS_MAX ? all : [...all.slice(0, FIRST_EVENTS), ...all.slice(FIRST_EVENTS - EVENTS_MAX)];

/** An event with its sentence, and whether the sentence contains contents of mail. */
const messageReport = async (
  deps: HttpDependencies,
  caller: Caller,
  id: string,
): Promise<{ readonly report: Report; readonly hasContents: boolean }> => {
  const { message } = await loadMessage(deps, caller, id);
  const { context } = deps;
  // The stream of a message holds message events only.
  const all = (await readWholeStream(context.store, messageStream(id))) as readonly RecordedMessageEvent[];
  const contents = await context.contents.heads(quotedIn(message, all));
  const actors = all.map(({ metadata }) => metadata.actor);
  const people = await namesOfMembers(context, caller.organizationId, membersIn(actors));
  const view = createView(message, all, { contents, people });
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
      await organizationFact(deps, caller),
      { name: 'Message', value: id },
      { name: 'Message-ID', value: message.accepted.internetMessageId },
      { name: 'Sent by', value: `${byWhom(actors[0] ?? '', people)}, from domain ${message.accepted.fromDomain}` },
      ...words,
      ...states,
    ],
    sends: [],
    left_out:
      happenings.length === all.length
        ? null
        : `Of ${all.length} events these are the first ${FIRST_EVENTS} and the last ${EVENTS_MAX - FIRST_EVENTS}; all ` +
          `are in GET /v1/messages/${id}/events.`,
    ...(await eventsAndCheckpoint(deps, caller, told)),
  };
  return { report, hasContents: contents.size > 0 };
};

export const getMessageReportRoute = endpoint(
  'GET /v1/audit/reports/messages/:id',
  {
    summary: 'Report what happened to a message',
    description: `${ABOUT_REPORTS} While its contents are stored, it shows addresses and the subject, and reading it is recorded.`,
    query: reportQuery,
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHER_MEDIA_TYPES,
    large: true,
  },
  async ({ caller, id, query: { format }, origin, request, reply }, { deps }) => {
    const { report, hasContents } = await messageReport(deps, caller, id);
    if (hasContents) await noteReading(deps.context, origin, { what: 'message_content', subjectId: id });
    return answerReport(request, reply, report, format);
  },
);
