/** `messages` of `/v1/messages/:id`. */
export const tagOf = (url: string): string => {
  if (url.startsWith('/unsubscribe/')) return 'unsubscribe';
  return url.startsWith('/v1/') ? (url.split('/')[2] ?? '') : 'service';
};

/** What the operations of a tag are about. */
const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  messages: 'Send messages, and see what became of them.',
  'api-keys': 'Make, change and end API keys; their values are shown once.',
  domains: 'The domains that mail is sent from, and the DNS records that prove them.',
  templates: 'Texts of messages with places to fill in.',
  webhooks: 'Addresses that are told of events as they happen.',
  events: 'Everything that happened, in order.',
  stats: 'Counts of recipients by what became of them.',
  suppressions: 'Addresses that are sent nothing more.',
  billing: 'What is used and what it costs.',
  destinations: 'Mail servers of recipients that are left alone for a while.',
  inbox: 'Mail that was captured instead of sent; only where nothing leaves the machine.',
  organization: 'Whose keys these are.',
  audit: 'Proof of who did what.',
  erasures: 'Deleting a person’s data.',
  unsubscribe: 'Pages behind the unsubscribe links in mail; no key is needed.',
  service: 'The service itself; no key is needed.',
};

/** @param used in the order of the document. */
export const tagsOf = (used: readonly string[]): readonly { readonly name: string; readonly description: string }[] =>
  [...new Set(used)].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] ?? '' }));
