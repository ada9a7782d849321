import { domainOf } from '../../domain/email-address.ts';
import { INBOX_BYTES_MAX, INBOX_MAILS_MAX, INBOX_PAGE_BYTES_MAX, type Inbox } from '../../domain/inbox.ts';
import { capturedMail, type StoredMail } from './captured-mail.ts';

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

  return {
    store: async (mail) => {
      lastId += 1;
      mails.push({ id: String(lastId), ...mail });
      bytes += mail.raw.length;
      trim();
    },
    list: async ({ limit, after, fromDomains }) => {
      const older = mails
        .filter(({ id }) => after === undefined || Number(id) < Number(after))
        .filter(({ from }) => fromDomains?.includes(domainOf(from).toLowerCase()) ?? true);
      const newestFirst = older.toReversed();
      const page = pageOf(newestFirst, limit);
      const next = page.length < newestFirst.length ? (page.at(-1)?.id ?? null) : null;
      return { mails: await Promise.all(page.map(capturedMail)), next };
    },
    close: async () => undefined,
  };
};
