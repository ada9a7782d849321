import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePort } from './free-port.ts';

/** A real OpenID provider on loopback. It signs in the named person without asking. */

interface Person {
  readonly email?: string;
  readonly email_verified?: boolean;
}

export interface OpenIdProvider {
  readonly issuer: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string };
  /** The person for later sign-ins. */
  person: Person;
  /**
   * Signs in with a new browser.
   * @returns the parameters of the redirect back.
   */
  signIn(url: string): Promise<URLSearchParams>;
  close(): Promise<void>;
}

/** A browser without cookies. */
const openBrowser = () => {
  const cookies = new Map<string, string>();
  return async (url: URL): Promise<URL> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { status, headers } = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const each of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      cookies.set(name, value);
    }
    const location = headers.get('location');
    if (location === null) throw new Error(`the provider answered ${status}`);
    return new URL(location, url);
  };
};

const follow = async (issuer: string, url: string): Promise<URLSearchParams> => {
  const open = openBrowser();
  let at = new URL(url);
  while (at.origin === issuer) at = await open(at);
  return at.searchParams;
};

const CLIENT = { clientId: 'outbox', clientSecret: 'a secret of the client, long enough' };

/** @param redirectUris that the provider accepts. */
export const startOpenIdProvider = async (...redirectUris: readonly string[]): Promise<OpenIdProvider> => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const people = new Map<string, Person>();
  const state: { person: Person } = { person: {} };
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [...redirectUris] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of a test'] },
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: CLIENT.clientId,
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) return void answer(request, response);
    const accountId = `person${people.size}`;
    people.set(accountId, state.person);
    void provider.interactionFinished(request, response, { login: { accountId } });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  return {
    issuer,
    client: CLIENT,
    get person() {
      return state.person;
    },
    set person(person) {
      state.person = person;
    },
    signIn: (url) => follow(issuer, url),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
