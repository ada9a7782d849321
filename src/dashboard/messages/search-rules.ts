import type { MailboxProvider, MessageStatus } from '../../http/resources/messages/find-messages.ts';
import {
  anything,
  type FilterRule,
  named,
  oneOf,
  type Problem,
  parseSearch,
  type SearchRules,
  time,
  tokensIn,
  type Value,
} from '../data/tokens.ts';
import { BOUNCE_REASONS, isTimed, OUTCOME_TIMES, OUTCOMES } from './outcome-words.ts';

/** Filters of the message list as they are typed, and their values. */

/** Complete: a status that the API adds does not compile without an entry here. */
const STATUS_VALUES: Readonly<Record<MessageStatus, true>> = {
  accepted: true,
  scheduled: true,
  sending: true,
  delivered: true,
  deferred: true,
  bounced: true,
  failed: true,
  suppressed: true,
  cancelled: true,
  expired: true,
};
const isStatus = (text: string): text is MessageStatus => Object.hasOwn(STATUS_VALUES, text);
export const STATUSES = Object.keys(STATUS_VALUES).filter(isStatus);

/** Outcomes of recipients that are no status of a message: `status:opened` means the outcome. */
export const MARKS = Object.keys(OUTCOMES).filter((outcome) => !isStatus(outcome));

/** Complete, as above. Frequent ones first: they are offered in this order. */
const PROVIDER_VALUES: Readonly<Record<MailboxProvider, true>> = {
  gmail: true,
  outlook: true,
  yahoo: true,
  icloud: true,
  gmx: true,
  web_de: true,
  other: true,
  comcast: true,
  docomo: true,
  fastmail: true,
  free: true,
  freenet: true,
  laposte: true,
  libero: true,
  mail_ru: true,
  naver: true,
  netease: true,
  orange: true,
  proton: true,
  qq: true,
  seznam: true,
  telekom: true,
  wp: true,
  yahoo_japan: true,
  yandex: true,
  zoho: true,
};
export const PROVIDERS = Object.keys(PROVIDER_VALUES);
export const STREAMS = ['transactional', 'bulk'] as const;
/** Frequent ones. */
export const CODES = ['421', '450', '451', '452', '550', '552', '554', '4.7.1', '5.1.1', '5.7.1'] as const;

/** Ids by name, for filters that the API takes as ids. */
export interface Names {
  readonly keys: ReadonlyMap<string, string>;
  readonly domains: ReadonlyMap<string, string>;
  readonly templates: ReadonlyMap<string, string>;
}

/** Words that are offered, with what they mean. */
export const ABOUT: Readonly<Record<string, string>> = {
  to: 'address, or part of an address or name',
  from: 'address, or part of an address or name',
  status: 'delivered, bounced, …',
  outcome: 'what happened to a recipient',
  tag: 'name:value, or one of the two',
  key: 'API key',
  template: 'template, or (none)',
  domain: 'sending domain',
  recipient_domain: 'domain of the recipient',
  provider: 'mailbox provider',
  stream: 'transactional or bulk',
  code: 'SMTP code',
  bounce: 'reason of the bounce',
  subject: 'words of the subject',
  since: '2d, today or a date',
  until: '2d, today or a date',
  outcome_since: 'when the outcome happened',
  outcome_until: 'when the outcome happened',
};

const hasLetter =
  (name: string) =>
  (value: string): Value =>
    /[\p{L}\p{N}]/u.test(value)
      ? { value }
      : {
          message: `“${value}” has no letter or digit. Use ${name}:ann@example.com, or a part such as ${name}:ann.`,
          near: null,
        };

/** @param problem follows the quoted value. */
const shaped =
  (shape: RegExp, problem: string) =>
  (value: string): Value =>
    shape.test(value) ? { value } : { message: `“${value}” ${problem}`, near: null };

const REQUEST_ID = /^req_[0-9a-f]{32}$/;

const code = shaped(
  /^[2-5]\d\d(?: [245]\.\d{1,3}\.\d{1,3})?$|^[245]\.\d{1,3}\.\d{1,3}$/,
  'is not an SMTP code. Use code:550 or code:5.1.1.',
);

const requestId = shaped(REQUEST_ID, 'is not a request id. Use the X-Request-Id of a response.');
const messageId = shaped(/^<?[^\s<>@]+@[^\s<>@]+>?$/, 'is not a Message-ID. Use message_id:<msg_…@example.com>.');

const subject = (value: string): Value =>
  /[\p{L}\p{N}]{2}|\p{Script=Han}/u.test(value) || /^".+"$/.test(value)
    ? { value }
    : { message: `“${value}” has no word of two letters or more, which a subject is searched by.`, near: null };

const pair = shaped(/^[^:]+:/, 'is not <name>:<value>. Use metadata:customer:42.');

/** An id that the API resolves. Without permission to list names, only ids can be used. */
const KEY_ID = /^key_[a-z2-7]{26}$|^mbr_[a-z2-7]{26}$/;
const DOMAIN_ID = /^dom_[a-z2-7]{26}$/;
/** An id, an alias, or `NO_TEMPLATE`. */
const TEMPLATE_ID = /^tpl_[a-z2-7]{26}$|^[a-z0-9-]{1,64}$|^\(none\)$/;

/** Guesses the filter for text without a filter name. */
const GUESSES: readonly (readonly [RegExp, string])[] = [
  [/^<?msg_[a-z2-7]{26}@\S+>?$/, 'message_id'],
  [REQUEST_ID, 'request'],
  [/^key_[a-z2-7]{26}$/, 'key'],
  [/^tpl_[a-z2-7]{26}$/, 'template'],
  [DOMAIN_ID, 'domain'],
  [/^[^\s@:"]+@[^\s@"]+$/, 'to'],
  [/^[45]\d\d(?: [45]\.\d{1,3}\.\d{1,3})?$|^[45]\.\d{1,3}\.\d{1,3}$/, 'code'],
];

const rule = (parameter: string, parse: FilterRule['parse']): FilterRule => ({ parameter, parse });

const messageRules = ({ keys, domains, templates }: Names, isUtc: boolean): SearchRules => {
  const key = rule('key_id', named('API key', KEY_ID, keys));
  const template = rule('template_id', named('template', TEMPLATE_ID, templates));
  const domain = rule('domain_id', named('domain', DOMAIN_ID, domains));
  const request = rule('request_id', requestId);
  const provider = rule('mailbox_provider', oneOf('provider', PROVIDERS));
  const smtpCode = rule('smtp_code', code);
  const bounce = rule('bounce_class', oneOf('bounce', Object.keys(BOUNCE_REASONS)));
  return {
    filters: {
      to: rule('to', hasLetter('to')),
      from: rule('from', hasLetter('from')),
      status: rule('status', oneOf('status', [...STATUSES, ...MARKS])),
      outcome: rule('outcome', oneOf('outcome', Object.keys(OUTCOMES))),
      tag: rule('tag', anything),
      key,
      key_id: key,
      template,
      template_id: template,
      domain,
      domain_id: domain,
      request,
      request_id: request,
      recipient_domain: rule('recipient_domain', anything),
      provider,
      mailbox_provider: provider,
      code: smtpCode,
      smtp_code: smtpCode,
      bounce,
      bounce_class: bounce,
      stream: rule('stream', oneOf('stream', STREAMS)),
      metadata: rule('metadata', pair),
      message_id: rule('message_id', messageId),
      subject: { parameter: 'subject', keepsQuotes: true, parse: subject },
      since: rule('since', time('since', isUtc)),
      until: rule('until', time('until', isUtc)),
      outcome_since: rule('outcome_since', time('outcome_since', isUtc)),
      outcome_until: rule('outcome_until', time('outcome_until', isUtc)),
    },
    offered: Object.keys(ABOUT),
    guess: (text) => GUESSES.find(([pattern]) => pattern.test(text))?.[1] ?? null,
    words: 'subject',
  };
};

interface MessageSearchText {
  readonly changes: Readonly<Record<string, string | null>>;
  readonly problems: readonly Problem[];
}

/** The time of an outcome selects nothing without an outcome that has one. */
const timeProblems = (text: string, outcome: string | null): readonly Problem[] => {
  const found = tokensIn(text).find(({ name }) => name !== null && OUTCOME_TIMES.includes(name));
  if (found === undefined || isTimed(outcome)) return [];
  const message = `${found.name} needs an outcome that happens at a time, such as outcome:bounced.`;
  return [{ message, fixes: [`outcome:bounced ${found.text}`, ''], from: found.from, to: found.to }];
};

/** The period that goes with typed times; undefined: it stays. */
const periodFor = (changes: MessageSearchText['changes']): 'all' | null | undefined => {
  if ('since' in changes) return null;
  // Otherwise the period would begin after the end, or hide outcomes of older messages.
  return ['until', ...OUTCOME_TIMES].some((name) => name in changes) ? 'all' : undefined;
};

interface Context {
  readonly names: Names;
  /** false: dates are in the time zone of the browser. */
  readonly isUtc: boolean;
  /** The outcome that the list is filtered by already; null: none. */
  readonly outcome: string | null;
}

/** Parses `status:bounced to:ann since:2d` into parameters of the screen. */
export const parseMessageSearch = (text: string, { names, isUtc, outcome }: Context): MessageSearchText => {
  const { changes: parsed, problems } = parseSearch(text, messageRules(names, isUtc));
  if (problems.length > 0) return { changes: {}, problems };
  const { status } = parsed;
  const changes = MARKS.some((mark) => mark === status) ? { ...parsed, status: null, outcome: status ?? null } : parsed;
  const late = timeProblems(text, changes.outcome ?? outcome);
  if (late.length > 0) return { changes: {}, problems: late };
  const period = periodFor(changes);
  return { changes: period === undefined ? changes : { ...changes, period }, problems };
};
