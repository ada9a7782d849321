import { createMailReader } from '../../../src/adapters/inbox/postgres.ts';
import {
  type CapturedMail,
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  type Inbox,
  type InboxFilter,
  type ReceivedMail,
} from '../../../src/domain/ports/mail.ts';
import { domainOf } from '../../../src/lib/mime/mime.ts';

interface StoredMail extends ReceivedMail {
  readonly captured: CapturedMail;
}

/** An inbox that lives as long as its process. */
export const createInMemoryInbox = (): Inbox => {
  const reader = createMailReader();
  const mails: StoredMail[] = [];
  let bytes = 0;
  let lastId = 0;

  const trim = (): void => {
    while (mails.length > INBOX_MAILS_MAX || bytes > INBOX_BYTES_MAX) bytes -= mails.shift()?.raw.length ?? 0;
  };

  const matching = ({ id, to, subject, fromDomains, environment }: InboxFilter): readonly StoredMail[] =>
    mails.filter(
      (mail) =>
        (id === undefined || mail.captured.id === id) &&
        (environment === undefined || mail.environment === environment) &&
        (to === undefined || mail.to.some((one) => one.toLowerCase() === to.toLowerCase())) &&
        (fromDomains?.includes(domainOf(mail.from)) ?? true) &&
        (subject === undefined || mail.captured.subject?.toLowerCase().includes(subject.toLowerCase()) === true),
    );

  const rawOf = ({ id }: CapturedMail): Uint8Array | null => matching({ id })[0]?.raw ?? null;

  return {
    store: async (mail) => {
      const outline = await reader.outline(mail.raw, domainOf(mail.from));
      lastId += 1;
      const { receivedAt, from, to, raw } = mail;
      const envelope = { from, to };
      const captured = { id: String(lastId), receivedAt, envelope, sizeBytes: raw.length, ...outline };
      mails.push({ ...mail, captured });
      bytes += raw.length;
      trim();
    },
    list: async ({ limit, after, ...filter }) => {
      const older = matching(filter).filter(
        ({ captured: { id } }) => after === undefined || Number(id) < Number(after),
      );
      const page = older.toReversed().slice(0, limit);
      const next = page.length < older.length ? (page.at(-1)?.captured.id ?? null) : null;
      return { mails: page.map(({ captured }) => captured), next };
    },
    content: async (mail) => {
      const raw = rawOf(mail);
      return raw === null ? null : await reader.content(raw, '');
    },
    source: async function* (mail) {
      const raw = rawOf(mail);
      if (raw === null) throw new Error('the captured mail was deleted');
      yield raw;
    },
    attachment: async (mail, place) => {
      const raw = rawOf(mail);
      return raw === null ? null : await reader.attachment(raw, place, '');
    },
    remove: async (filter) => {
      const found = new Set(matching(filter));
      const kept = mails.filter((mail) => !found.has(mail));
      mails.splice(0, mails.length, ...kept);
      bytes = mails.reduce((sum, { raw }) => sum + raw.length, 0);
      return found.size;
    },
    close: reader.close,
  };
};
