import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SignInMethods } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from '../data/api.ts';
import { leave, problem } from '../data/oidc.ts';
import { useRead } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { Icon } from './icons.tsx';

/** Sign-in through the identity provider, and its errors. */

const SENTENCES: Readonly<Record<string, string>> = {
  oidc_refused: 'The identity provider did not sign you in.',
  oidc_invalid:
    'The sign-in was not completed: it was used before, took longer than ten minutes, or began in another browser. Begin again.',
  oidc_address_unverified: 'The identity provider has not verified your email address.',
  oidc_no_member:
    'You have joined no organization with your address, or the invitation has expired. Ask an owner to invite you.',
  unavailable: 'The identity provider does not answer just now. Try again in a moment.',
  rate_limit_exceeded: 'There were too many attempts from here. Wait a minute.',
};

const sentenceOf = (code: string): string => SENTENCES[code] ?? 'The sign-in did not succeed.';

const Problem = ({ sentence, code }: { readonly sentence: string; readonly code: string }): JSX.Element => (
  <p class="problem" role="alert">
    {sentence} <code>{code}</code>
  </p>
);

/** The problem of the last redirect back. */
export const ProviderProblem = (): JSX.Element | null => {
  const code = useStore(problem);
  return code === null ? null : <Problem sentence={sentenceOf(code)} code={code} />;
};

/** The service explains problems with the request itself, such as a wrong host name. */
const refusalOf = (error: unknown): { readonly sentence: string; readonly code: string } => {
  if (!(error instanceof ApiFault)) return { sentence: sentenceOf(''), code: 'internal_error' };
  const { code, message } = error;
  return { sentence: code === 'invalid_request' ? `${message}.` : sentenceOf(code), code };
};

/** @param chooses true: list all organizations of the member. */
const ProviderButton = ({ word, chooses }: { readonly word: string; readonly chooses: boolean }): JSX.Element => {
  const [refusal, setRefusal] = useState<ReturnType<typeof refusalOf> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    problem.set(null);
    try {
      await leave(chooses);
    } catch (error) {
      setRefusal(refusalOf(error));
      setBusy(false);
    }
  };
  return (
    <>
      {refusal !== null && <Problem {...refusal} />}
      <button type="button" class="btn" disabled={isBusy} onClick={() => void go()}>
        <Icon name="lock" />
        <span class="ell">{word}</span>
      </button>
    </>
  );
};

export const SignInAtProvider = ({ host }: NonNullable<SignInMethods['oidc']>): JSX.Element => (
  <ProviderButton word={`Sign in with ${host}`} chooses={false} />
);

/** Signs the member in at the provider again and lists their organizations. Renders nothing without a provider. */
export const SwitchOrganization = (): JSX.Element | null => {
  const { data } = useRead(['/v1/session/methods'], (signal) =>
    request<SignInMethods>('/v1/session/methods', { signal, environment: 'live' }),
  );
  return data?.oidc ? <ProviderButton word="Switch organization" chooses /> : null;
};
