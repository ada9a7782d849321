import { type ParsedMail, simpleParser } from 'mailparser';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../../support/api-client.ts';
import { readInbox } from '../../support/captured-mail.ts';
import { newDataDir, type Program, startProgram } from '../../support/program.ts';

/** The program with keys and templates for a published client of another service. */

interface CapturedMail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly raw: string;
  readonly subject: string;
}

/** One copy of a delivered mail. */
export interface Copy {
  readonly to: readonly string[];
  readonly mail: ParsedMail;
}

export const HOUR_MS = 3_600_000;
export const inMs = (ms: number): Date => new Date(Date.now() + ms);

export const addressesIn = (field: ParsedMail['to']): readonly string[] =>
  [field ?? []].flat().flatMap(({ value }) => value.map(({ address = '' }) => address));

/** Name, type, id and text of each attachment. */
export const filesOf = ({ attachments }: ParsedMail) =>
  attachments
    .map(({ filename, contentType, cid, content }) => [filename, contentType, cid, content.toString('utf8')])
    .toSorted();

export const PNG = Buffer.from('not really an image');

/** The first copy. @throws {Error} if no copy arrived. */
export const firstMail = ([copy]: readonly Copy[]): ParsedMail => {
  if (copy === undefined) throw new Error('nothing arrived');
  return copy.mail;
};

/** @param templates aliases of templates that greet `name`. @param env settings of the service. */
export const useProgram = (templates: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  const now = { baseUrl: '', key: '', slow: '', api: {} as ApiClient };

  const publish = async (alias: string): Promise<void> => {
    const { status } = await now.api.post('/v1/templates', {
      alias,
      name: alias,
      subject: 'Welcome {{ name }}',
      html: '<p>Hello {{ name }}</p>',
      variables: [{ name: 'name', type: 'string', example: 'Ann' }],
    });
    expect(status).toBe(201);
    expect((await now.api.post(`/v1/templates/${alias}/publish`)).status).toBe(200);
  };

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path, env });
    now.baseUrl = program.baseUrl;
    const admin = apiClient(program.baseUrl, program.keys.live);
    const { id: domain } = (await admin.get('/v1/domains')).body.data[0];
    const keyWith = async (permissions: readonly string[], rate_limits: object): Promise<string> => {
      const asked = { name: 'drop-in', domain_id: domain, permissions, rate_limits };
      const { status, body } = await admin.post('/v1/api-keys', asked);
      expect(status).toBe(201);
      return body.key;
    };
    now.key = await keyWith(['admin'], { send: 100_000, read: 100_000, manage: 100_000 });
    now.slow = await keyWith(['send'], { send: 2 });
    now.api = apiClient(program.baseUrl, now.key);
    for (const alias of templates) await publish(alias);
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  return {
    /** State after the start: the URL, a key with all permissions, and one that may only send, twice a minute. */
    now,
    /** All delivered copies of a mail, by its subject. */
    arrived: async (subject: string, count = 1): Promise<readonly Copy[]> => {
      const found = await eventually(
        async (): Promise<readonly CapturedMail[]> =>
          (await readInbox(now.api, `?limit=100&subject=${encodeURIComponent(subject)}`)).filter(
            (mail: CapturedMail) => mail.subject === subject,
          ),
        (mails) => mails.length >= count,
      );
      expect(found).toHaveLength(count);
      return Promise.all(
        found.map(async ({ envelope: { to }, raw }) => ({
          to,
          mail: await simpleParser(raw, { skipImageLinks: true }),
        })),
      );
    },
  };
};
