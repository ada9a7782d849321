import { addressClassOf, isWithin, parseRange } from '../kernel/addresses.ts';

/**
 * Classifies the client that loaded an image or followed a link: its program family and kind of network, which are the
 * only stored traces of user agent and address, and whether it is a machine.
 */

/** Reasons to treat an open or click as a machine's. */
export const MACHINE_REASONS = [
  /** Mail Privacy Protection loads every image, whether or not the mail is read. */
  'apple_privacy_proxy',
  /** The mailbox provider loads images for its users at times of its own choice. */
  'image_proxy',
  /** A program other than a mail client, or a network of mail filters. */
  'scanner',
  /** Requested only the headers. */
  'head_request',
  /** Followed all links of the mail at once. */
  'every_link',
  /** Too soon after delivery for a person. */
  'at_delivery',
] as const;
export type MachineReason = (typeof MACHINE_REASONS)[number];

export const CLIENT_FAMILIES = [
  'apple_mail',
  'outlook',
  'thunderbird',
  'gmail',
  'yahoo_mail',
  'samsung_mail',
  'edge',
  'firefox',
  'chrome',
  'safari',
  'program',
  'other',
] as const;
export type ClientFamily = (typeof CLIENT_FAMILIES)[number];

export const NETWORK_KINDS = ['apple', 'google', 'microsoft', 'mail_filter', 'private', 'other'] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** Stored properties of a client. */
export interface Client {
  readonly family: ClientFamily;
  readonly network: NetworkKind;
}

export interface TrackedRequest {
  /** User agent as sent; empty if absent. */
  readonly userAgent: string;
  readonly address: string;
  readonly isHead: boolean;
}

const rangesOf = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .map(parseRange)
    .filter((range) => range !== null);

/** Networks that their owners publish for their mail, proxies and filters. */
const NETWORKS: readonly (readonly [NetworkKind, ReturnType<typeof rangesOf>])[] = [
  ['apple', rangesOf('17.0.0.0/8 2620:149::/32')],
  [
    'google',
    rangesOf(
      '64.233.160.0/19 66.102.0.0/20 66.249.64.0/19 72.14.192.0/18 74.125.0.0/16 209.85.128.0/17 2001:4860:4000::/36',
    ),
  ],
  ['microsoft', rangesOf('40.92.0.0/15 40.107.0.0/16 52.100.0.0/14 104.47.0.0/17 2a01:111:f400::/48')],
  [
    'mail_filter',
    // Proofpoint, Mimecast, Barracuda, Cisco.
    rangesOf(`67.231.144.0/20 148.163.128.0/19 205.220.160.0/19 205.139.110.0/23 207.211.30.0/23 170.10.128.0/20
      64.235.144.0/20 209.222.80.0/21 68.232.128.0/19 216.71.128.0/19`),
  ],
];

const networkOf = (address: string): NetworkKind =>
  NETWORKS.find(([, ranges]) => isWithin(ranges, address))?.[0] ??
  (addressClassOf(address) === 'public' ? 'other' : 'private');

const IMAGE_PROXY = /GoogleImageProxy|YahooMailProxy|YahooCacheSystem|OutlookImageProxy|ImageProxy/i;
/** The complete user agent of the Mail Privacy Protection proxy. */
const APPLE_PROXY = 'Mozilla/5.0';
const PROGRAM =
  /bot\b|bot\/|crawl|spider|slurp|scan(?:ner)?\b|monitor|preview|curl\/|wget|python|aiohttp|httpx|go-http-client|okhttp|java\/|libwww|perl|ruby|php\/|axios|node-fetch|undici|headless|phantom|selenium|barracuda|mimecast|proofpoint|fireeye|trendmicro|symantec|bitdefender|sophos|zscaler|safelinks|facebookexternalhit|whatsapp|telegram|skypeuripreview/i;

/** The first match applies, because most user agents also name the families after them. */
const FAMILIES: readonly (readonly [ClientFamily, RegExp])[] = [
  ['gmail', /GoogleImageProxy/i],
  ['yahoo_mail', /YahooMailProxy|YahooCacheSystem|YahooMobileMail/i],
  ['program', PROGRAM],
  ['thunderbird', /Thunderbird/],
  ['outlook', /Outlook|MSOffice|ms-office|Microsoft Office/i],
  ['samsung_mail', /SamsungEmail|Samsung ?Mail/i],
  ['edge', /Edg(?:e|A|iOS)?\//],
  ['firefox', /Firefox\/|FxiOS\//],
  ['chrome', /Chrome\/|CriOS\//],
  ['safari', /Safari\//],
  ['apple_mail', /AppleWebKit\//],
];

const familyOf = (userAgent: string): ClientFamily => {
  if (userAgent === APPLE_PROXY) return 'apple_mail';
  return FAMILIES.find(([, pattern]) => pattern.test(userAgent))?.[0] ?? 'other';
};

const machineOf = ({ userAgent, isHead }: TrackedRequest, network: NetworkKind): MachineReason | null => {
  if (isHead) return 'head_request';
  if (userAgent === APPLE_PROXY || network === 'apple') return 'apple_privacy_proxy';
  if (IMAGE_PROXY.test(userAgent)) return 'image_proxy';
  const isFilter = network === 'microsoft' || network === 'mail_filter';
  return userAgent === '' || isFilter || PROGRAM.test(userAgent) ? 'scanner' : null;
};

/** Longer user agents are cut, because the distinguishing parts come early. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** @returns `machine`: null if the request alone does not reveal one; later behaviour may (`record-engagement.ts`). */
export const recognizeClient = (request: TrackedRequest): Client & { readonly machine: MachineReason | null } => {
  const userAgent = request.userAgent.slice(0, USER_AGENT_CHARACTERS_MAX).trim();
  const network = networkOf(request.address);
  return { family: familyOf(userAgent), network, machine: machineOf({ ...request, userAgent }, network) };
};
