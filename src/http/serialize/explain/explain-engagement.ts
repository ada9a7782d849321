import type { MessageEvent } from '../../../domain/kernel/events.ts';
import type { ClientFamily, MachineReason } from '../../../domain/tracking/client.ts';
import type { StepFacts, StepType, View } from './explanation.ts';

/** Describes openings and clicks in sentences: by people, or by machines with the reason for that classification. */

type OpenedData = Extract<MessageEvent, { readonly type: 'RecipientOpened' }>['data'];
type ClickedData = Extract<MessageEvent, { readonly type: 'RecipientClicked' }>['data'];

interface StepDescription {
  readonly type: StepType;
  readonly sentence: string;
  readonly facts: StepFacts;
}

const BECAUSE: Readonly<Record<MachineReason, string>> = {
  apple_privacy_proxy: "Apple's privacy proxy loads every image, whether or not the mail is looked at",
  image_proxy: 'the mailbox provider loads images for its users, when and as often as it likes',
  scanner: 'the program, or its network, is one of those that look through mail',
  head_request: 'it asked for the headers alone',
  every_link: 'it followed every link at once',
  at_delivery: 'it came sooner after delivery than a person can',
};

const PROGRAMS: Readonly<Partial<Record<ClientFamily, string>>> = {
  apple_mail: 'Apple Mail',
  outlook: 'Outlook',
  thunderbird: 'Thunderbird',
  gmail: 'Gmail',
  yahoo_mail: 'Yahoo Mail',
  samsung_mail: 'Samsung Email',
  edge: 'Edge',
  firefox: 'Firefox',
  chrome: 'Chrome',
  safari: 'Safari',
};

const timesOf = ({ count, first }: OpenedData): string => {
  const often = count === 1 ? '' : ` ${count === 2 ? 'twice' : `${count} times`} within a minute`;
  return `${often}${first === true && count === 1 ? ', for the first time' : ''}`;
};

const programOf = ({ client }: OpenedData): string => {
  const program = PROGRAMS[client];
  return program === undefined ? '' : ` (with ${program})`;
};

const factsOf = ({ first, count, machine, client, network }: OpenedData): StepFacts => ({
  first: first === true,
  count,
  machine: machine !== undefined,
  client,
  network,
  ...(machine === undefined ? {} : { reason: machine }),
});

export const explainOpened = (data: OpenedData, view: View): StepDescription => {
  const who = view.nameOf([data.recipientId]);
  const times = timesOf(data);
  const sentence =
    data.machine === undefined
      ? `${who} opened it${times}${programOf(data)}.`
      : `A machine opened the mail of ${who}${times}: ${BECAUSE[data.machine]}.`;
  return { type: 'opened', sentence, facts: factsOf(data) };
};

export const explainClicked = (data: ClickedData, view: View): StepDescription => {
  const who = view.nameOf([data.recipientId]);
  const url = view.urlOf(data.linkId);
  const where = url === null ? `number ${data.link + 1}` : url;
  const times = timesOf(data);
  const sentence =
    data.machine === undefined
      ? `${who} followed a link${times}: ${where}${programOf(data)}.`
      : `A machine followed a link in the mail of ${who}${times}, to ${where}: ${BECAUSE[data.machine]}.`;
  return { type: 'clicked', sentence, facts: { ...factsOf(data), url } };
};
