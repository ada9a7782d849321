import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SignInMethods } from '../../http/schemas/sign-in.ts';
import { ApiFault } from '../data/api.ts';
import { leave, problem } from '../data/oidc.ts';
import { useStore } from '../data/store.ts';
import { Icon } from './icons.tsx';

/** The way to the identity provider, and what went wrong there. */

const SENTENCES: Readonly<Record<string, string>> = {
  oidc_refused: 'The identity provider did not sign you in.',
  oidc_invalid:
    'The sign-in was not completed: it was used before, took longer than ten minutes, or began in another browser. Begin again.',
  oidc_address_unverified: 'The identity provider has not verified your email address.',
  oidc_no_member:
    'Nobody with your address has been invited, or more than one organization invited it. Ask an owner, or use a link.',
  unavailable: 'The identity provider does not answer just now. Try again in a moment.',
  rate_limit_exceeded: 'There were too many attempts from here. Wait a minute.',
};

const sentenceOf = (code: string): string => SENTENCES[code] ?? 'The sign-in did not succeed.';

const Problem = ({ sentence, code }: { readonly sentence: string; readonly code: string }): JSX.Element => (
  <p class="problem" role="alert">
    {sentence} <code>{code}</code>
  </p>
);

/** Of the last way back. */
export const ProviderProblem = (): JSX.Element | null => {
  const code = useStore(problem);
  return code === null ? null : <Problem sentence={sentenceOf(code)} code={code} />;
};

/** What is wrong with the request itself, such as the name of the host, is said by the service. */
const refusalOf = (error: unknown): { readonly sentence: string; readonly code: string } => {
  if (!(error instanceof ApiFault)) return { sentence: sentenceOf(''), code: 'internal_error' };
  const { code, message } = error;
  return { sentence: code === 'invalid_request' ? `${message}.` : sentenceOf(code), code };
};

export const SignInAtProvider = ({ host }: NonNullable<SignInMethods['oidc']>): JSX.Element => {
  const [refusal, setRefusal] = useState<ReturnType<typeof refusalOf> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    problem.set(null);
    try {
      await leave();
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
        <span class="ell">Sign in with {host}</span>
      </button>
    </>
  );
};
