import { afterAll, beforeAll, expect } from 'vitest';
import type { Answer, AnyBody } from '../../support/api-client.ts';
import { apiClient } from '../../support/api-client.ts';
import { operator } from '../../support/operator.ts';
import { type Front, prismBefore } from '../../support/prism.ts';
import { newDataDir, type Program, startProgram } from '../../support/program.ts';

interface ServiceRequest {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A new key: its id and its full value. */
interface MadeKey {
  readonly id: string;
  readonly value: string;
}

export interface Conforming {
  readonly program: Program;
  /** An admin key of the first organization, without limits that a test could reach. */
  readonly admin: string;
  /** An admin key of another organization, which has the domain `other.test`. */
  readonly stranger: string;
  /** Ids of the two domains. */
  readonly domainId: string;
  readonly otherDomainId: string;
  /** Makes a request with a key, by default `admin`. */
  ask(asked: ServiceRequest): Promise<Answer<AnyBody>>;
  /** Makes a request with these headers and no others. */
  raw(path: string, init?: RequestInit): Promise<Response>;
  /** Creates a key of the first organization with its admin key. */
  makeKey(fields?: object): Promise<MadeKey>;
}

const WIDE = { send: 1_000_000, read: 1_000_000, manage: 1_000_000 };
const WIDE_OPTIONS = ['--send', '1000000', '--read', '1000000', '--manage', '1000000'];

export const MESSAGE = {
  from: 'Shop <shop@example.test>',
  to: 'customer@example.net',
  subject: 'Your order',
  html: '<p>Thank you.</p>',
};

/** @param front placed between the tests and the program. */
const open = async (dataDir: string, program: Program, front: Front): Promise<Conforming> => {
  const command = (...words: readonly string[]) => operator({ dataDir }, ...words);
  const adminOf = async (organization: string, domain: string): Promise<string> => {
    const place = ['--organization', organization, '--domain', domain, '--permissions', 'admin'];
    return (await command('keys', 'create', ...place, ...WIDE_OPTIONS)).key;
  };
  const [own] = await command('domains', 'list');
  const { organization_id: other } = await command('organizations', 'create', '--name', 'Other');
  const otherDomain = await command('domains', 'create', '--organization', other, '--name', 'other.test');
  const admin = await adminOf(own.organization_id, own.domain_id);
  const stranger = await adminOf(other, otherDomain.domain_id);

  const ask: Conforming['ask'] = ({ method = 'GET', path, key = admin, body, headers }) =>
    apiClient(front.url, key).call(method, path, body, headers);

  return {
    program,
    admin,
    stranger,
    ask,
    domainId: own.domain_id,
    otherDomainId: otherDomain.domain_id,
    raw: (path, init) => fetch(front.url + path, init),
    makeKey: async (fields = {}) => {
      const body = {
        name: 'made for a test',
        domain_id: own.domain_id,
        permissions: ['send'],
        rate_limits: WIDE,
        ...fields,
      };
      const made = await ask({ method: 'POST', path: '/v1/api-keys', body });
      if (made.status !== 201) throw new Error(`no key: ${JSON.stringify(made.body)}`);
      return { id: made.body.id, value: made.body.key };
    },
  };
};

/** The service as a user starts it, shared by all tests of a file. */
export const conforming = (): { readonly service: () => Conforming } => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let front: Front;
  let service: Conforming;
  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    front = await prismBefore(program.baseUrl);
    service = await open(data.path, program, front);
  });
  afterAll(async () => {
    await front.close();
    await program.end('SIGTERM');
    await data.remove();
    expect(front.findings).toEqual([]);
  });
  return { service: () => service };
};
