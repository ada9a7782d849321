import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { sendingDomainStream } from '../../../domain/kernel/streams.ts';
import { sendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import type { KeyHistoryEvent } from '../../schemas/key-history.ts';
import { listed } from '../../serialize/explain/explanation.ts';
import { keySentence } from '../../serialize/reports/key-sentences.ts';
import { type Report, reportSchema } from '../../serialize/reports/report.ts';
import { readKeyHistory, readKeyLife } from '../api-keys/key-history.ts';
import {
  ABOUT_REPORTS,
  answerReport,
  EVENTS_MAX,
  eventsAndCheckpoint,
  OTHER_MEDIA_TYPES,
  organizationFact,
  reportQuery,
} from './reports.ts';

type MakingSecret = Extract<KeyHistoryEvent, { readonly type: 'KeyCreated' | 'KeyRotated' }>;

const isMakingSecret = (event: KeyHistoryEvent): event is MakingSecret =>
  event.type === 'KeyCreated' || event.type === 'KeyRotated';

/** Newest secrets that a report includes. */
const SECRETS_MAX = 100;

/** Messages sent with each secret that an event created. @param made oldest first. */
const sendsOf = async (deps: HttpDependencies, id: string, made: readonly MakingSecret[]): Promise<Report['sends']> => {
  const first = Math.max(1, made.length - SECRETS_MAX + 1);
  await readYourWrites(deps, ['messages']);
  const sent = await deps.readModels.apiKeys.sends({ keyId: id, from: first, to: made.length });
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

/** `mail.example.com (dom_…)`. */
const domainInWords = async ({ context }: HttpDependencies, domainId: string): Promise<string> => {
  const { state } = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  return state.status === 'absent' ? domainId : `${state.name} (${domainId})`;
};

const keyReport = async (deps: HttpDependencies, caller: Caller, id: string): Promise<Report> => {
  const { store, system } = deps.context;
  const { key, life } = await readKeyLife(store, caller, id);
  const { happenings, next } = await readKeyHistory(store, caller, { id, limit: EVENTS_MAX, place: null });
  const domain = await domainInWords(deps, key.domainId);
  const made = life.map(({ event }) => event).filter(isMakingSecret);
  const numbers = new Map(made.map((event, index) => [event.id, index + 1]));
  const told = happenings
    .map(({ event }) => ({ event, sentence: keySentence(event, domain, numbers.get(event.id) ?? 0) }))
    .reverse();
  return {
    object: 'audit_report',
    type: 'api_key',
    id,
    title: `What happened to API key ${id}`,
    made_at: system.now().toISOString(),
    facts: [
      await organizationFact(deps, caller),
      { name: 'Key', value: id },
      { name: 'Name', value: key.name },
      { name: 'State', value: key.status },
      { name: 'For', value: `${key.environment} mail of ${domain}` },
      { name: 'May', value: listed(key.permissions) },
      { name: 'Secrets so far', value: String(made.length) },
    ],
    sends: await sendsOf(deps, id, made),
    left_out:
      next === null
        ? null
        : `Of many events these are the last ${EVENTS_MAX}; all are in GET /v1/audit/log?key_id=${id}.`,
    ...(await eventsAndCheckpoint(deps, caller, told)),
  };
};

export const getKeyReportRoute = endpoint(
  'GET /v1/audit/reports/api-keys/:id',
  {
    summary: 'Report what happened to an API key',
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
