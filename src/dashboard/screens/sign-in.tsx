import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFault, request } from '../data/api.ts';
import { enterKey, environmentOfKey } from '../data/credentials.ts';
import { currentEnvironment, navigate, withParameters } from '../data/location.ts';
import { Icon } from '../parts/icons.tsx';
import { SignInByPasskey } from '../parts/passkeys.tsx';
import { Logo } from '../parts/shell.tsx';
import { ProviderProblem, SignInAtProvider } from '../parts/sign-in-provider.tsx';
import { SignInByMail, SignInFoot, useSignInMethods } from '../parts/sign-in-ways.tsx';

/**
 * Tests whether a key is valid. Every valid key is either allowed to list messages or rejected for lack of permission.
 */
const isAccepted = async (key: string): Promise<boolean> => {
  try {
    await request('/v1/messages', { query: { limit: 1 }, key });
    return true;
  } catch (error) {
    if (error instanceof ApiFault && error.code === 'permission_missing') return true;
    throw error;
  }
};

const problemOf = (error: unknown): string =>
  error instanceof ApiFault && error.status === 401
    ? 'The service knows no such key, or it has ended.'
    : `It could not be checked: ${String(error instanceof Error ? error.message : error)}`;

/** Asks for an API key of the current environment. */
const SignInByKey = (): JSX.Element => {
  const environment = currentEnvironment();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    const key = text.trim();
    const of = environmentOfKey(key);
    if (of === null) return setProblem('A key begins with ob_live_ or ob_test_.');
    try {
      if (await isAccepted(key)) enterKey(of, key);
      navigate(withParameters({ environment: of === 'test' ? 'test' : null }), 'replace');
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <form class="way" onSubmit={(event) => void enter(event)}>
      <label>
        API key
        <input
          class="inp mono"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder={`ob_${environment}_…`}
          value={text}
          aria-invalid={problem !== null}
          {...(problem !== null && { 'aria-describedby': 'problem' })}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setProblem(null);
          }}
        />
      </label>
      {problem !== null && (
        <p id="problem" class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="btn">
        <Icon name="key" />
        Sign in
      </button>
      <p class="small">The key stays in this tab, and is sent to this service alone.</p>
    </form>
  );
};

/** The sign-in page with every available method. */
export const SignIn = (): JSX.Element => {
  const methods = useSignInMethods();
  return (
    <main class="si">
      <div class="box">
        <Logo />
        <h1>Sign in to Outbox</h1>
        <p class="sub">{location.host}</p>
        <div class="panel">
          <ProviderProblem />
          <SignInByPasskey />
          {methods?.mailed_link && (
            <>
              <SignInByMail {...methods.mailed_link} />
              <p class="or">or</p>
            </>
          )}
          {methods?.oidc && (
            <>
              <SignInAtProvider {...methods.oidc} />
              <p class="or">or</p>
            </>
          )}
          <SignInByKey />
        </div>
        <p class="other-way">
          Locked out? An owner can make a link under Settings. The person who runs this service can print one:
          <code>npm run outbox -- members link --owner</code>
        </p>
      </div>
      <SignInFoot />
    </main>
  );
};
