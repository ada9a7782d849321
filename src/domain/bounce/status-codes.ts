import type { BounceCategory } from './categories.ts';

/** Category of an enhanced status code when the words are not conclusive. */
export interface StatusCode {
  /** Subject and detail, such as `1.1`. The class only says whether the failure is permanent. */
  readonly code: string;
  readonly category: BounceCategory;
  readonly source: string;
}

const rfc3463 = (clause: string, category: BounceCategory, ...codes: readonly string[]): readonly StatusCode[] =>
  codes.map((code) => ({ code, category, source: `RFC 3463 §${clause}` }));

const of = (source: string, category: BounceCategory, ...codes: readonly string[]): readonly StatusCode[] =>
  codes.map((code) => ({ code, category, source }));

const EXCHANGE = 'learn.microsoft.com, Email non-delivery reports in Exchange Online';

/** Codes with a specific meaning. */
export const STATUS_CODES: readonly StatusCode[] = [
  ...rfc3463('3.2', 'no_mailbox', '1.1', '1.3'),
  ...rfc3463('3.2', 'no_domain', '1.2'),
  ...rfc3463('3.2', 'mailbox_disabled', '1.6'),
  ...rfc3463('3.2', 'sender_rejected', '1.7', '1.8'),
  ...of('RFC 7505 §4.1', 'no_domain', '1.10'),
  ...rfc3463('3.3', 'mailbox_disabled', '2.1'),
  ...rfc3463('3.3', 'mailbox_full', '2.2'),
  ...rfc3463('3.3', 'too_large', '2.3'),
  ...rfc3463('3.3', 'system', '2.4'),
  ...rfc3463('3.4', 'system', '3.1', '3.2', '3.5'),
  ...rfc3463('3.4', 'protocol', '3.3'),
  ...rfc3463('3.4', 'too_large', '3.4'),
  ...rfc3463('3.5', 'network', '4.1', '4.2', '4.3', '4.4', '4.7'),
  ...rfc3463('3.5', 'system', '4.5', '4.6'),
  ...rfc3463('3.6', 'protocol', '5.1', '5.2', '5.4', '5.5'),
  ...rfc3463('3.6', 'rate_limited', '5.3'),
  ...rfc3463('3.7', 'content_rejected', '6.1', '6.2'),
  ...rfc3463('3.7', 'protocol', '6.3', '6.4', '6.5'),
  ...of('RFC 6531 §4.3', 'protocol', '6.7'),
  ...rfc3463('3.8', 'policy', '7.2'),
  ...of('RFC 4954 §6', 'authentication', '7.8', '7.9'),
  ...of('RFC 3207, registered as X.7.10', 'policy', '7.10'),
  ...of('RFC 7293 §5', 'mailbox_disabled', '7.17', '7.18'),
  ...of('RFC 7372 §3', 'authentication', '7.20', '7.21', '7.22', '7.23', '7.24', '7.25', '7.26'),
  ...of('RFC 7505 §4.2', 'sender_rejected', '7.27'),
  ...of('IANA, SMTP enhanced status codes: mail flood', 'rate_limited', '7.28'),
  ...of('RFC 8617, registered as X.7.29', 'authentication', '7.29'),
  ...of(EXCHANGE, 'authentication', '7.509', '7.515'),
  ...of(EXCHANGE, 'reputation', '7.511', '7.606', '7.607', '7.649', '7.708'),
  ...of(EXCHANGE, 'rate_limited', '7.500', '7.650', '7.651', '7.652', '7.653', '7.654'),
];

/** Codes that servers use for anything within their subject. They rank below the vague words. */
export const VAGUE_STATUS_CODES: readonly StatusCode[] = [
  ...rfc3463('3.4', 'system', '3.0'),
  ...rfc3463('3.5', 'network', '4.0'),
  ...rfc3463('3.6', 'protocol', '5.0'),
  ...rfc3463('3.8', 'policy', '7.0', '7.1'),
];

/** Reply codes that are conclusive alone. Most are not, least of all 550. */
export const REPLY_CODES: Readonly<Record<number, BounceCategory>> = {
  /** RFC 5321 §4.2.3: service not available, local error, insufficient storage. */
  421: 'system',
  451: 'system',
  452: 'system',
  /** RFC 5321 §4.2.3: command not recognized, or out of order. */
  500: 'protocol',
  501: 'protocol',
  502: 'protocol',
  503: 'protocol',
  504: 'protocol',
  /** RFC 4954 §6. */
  530: 'authentication',
  534: 'authentication',
  535: 'authentication',
  538: 'authentication',
  /** RFC 7504 §4. */
  556: 'no_domain',
};
