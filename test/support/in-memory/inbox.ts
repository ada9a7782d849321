import { capturedMail, hasPart, subjectOf } from '../../../src/adapters/inbox/captured-mail.ts';
import { domainOf } from '../../../src/domain/email-address.ts';
import {
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  INBOX_PAGE_BYTES_MAX,
  type Inbox,
  type InboxFilter,
  type ReceivedMail,
} from '../../../src/domain/ports/inbox.ts';

interface StoredMail extends ReceivedMail {
  readonly id: string;
}

/** Newest first, as many as fit into a page; the first always does. */
const pageOf = (mails: readonly StoredMail[], limit: number): readonly StoredMail[] => {
  const page: StoredMail[] = [];
  let bytes = 0;
  for (const mail of mails) {
    if (page.length === limit || bytes >= INBOX_PAGE_BYTES_MAX) break;
    page.push(mail);
    bytes += mail.raw.length;
  }
  return page;
};

/** An inbox that lives as long as its process. */
export const createInMemoryInbox = (): Inbox => {
  const mails: StoredMail[] = [];
  let bytes = 0;
  let lastId = 0;

  const trim = (): void => {
    while (mails.length > INBOX_MAILS_MAX || bytes > INBOX_BYTES_MAX) bytes -= mails.shift()?.raw.length ?? 0;
  };

  const matches = async (
    mail: StoredMail,
    { id, to, subject, fromDomains, environment }: InboxFilter,
  ): Promise<boolean> =>
    (id === undefined || mail.id === id) &&
    (environment === undefined || mail.environment === environment) &&
    (to === undefined || mail.to.some((one) => one.toLowerCase() === to.toLowerCase())) &&
    (fromDomains?.includes(domainOf(mail.from).toLowerCase()) ?? true) &&
    (subject === undefined || hasPart(await subjectOf(mail.raw), subject));

  const matching = async (filter: InboxFilter): Promise<readonly StoredMail[]> => {
    const found: StoredMail[] = [];
    for (const mail of mails) if (await matches(mail, filter)) found.push(mail);
    return found;
  };

  return {
    store: async (mail) => {
      lastId += 1;
      mails.push({ id: String(lastId), ...mail });
      bytes += mail.raw.length;
      trim();
    },
    list: async ({ limit, after, ...filter }) => {
      const all = await matching(filter);
      const older = all.filter(({ id }) => after === undefined || Number(id) < Number(after));
      const newestFirst = older.toReversed();
      const page = pageOf(newestFirst, limit);
      const next = page.length < newestFirst.length ? (page.at(-1)?.id ?? null) : null;
      return { mails: await Promise.all(page.map(capturedMail)), next };
    },
    remove: async (filter) => {
      const found = new Set(await matching(filter));
      const kept = mails.filter((mail) => !found.has(mail));
      mails.splice(0, mails.length, ...kept);
      bytes = mails.reduce((sum, { raw }) => sum + raw.length, 0);
      return found.size;
    },
    close: async () => undefined,
  };
};
