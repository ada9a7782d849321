import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedSignInChoice } from '../../http/schemas/sign-in.ts';
import type { Place } from '../data/location.ts';
import { choices, choose, comeBack } from '../data/oidc.ts';
import { useStore } from '../data/store.ts';
import { Logo } from '../parts/shell.tsx';

/** Handles the identity provider's redirect. It continues at once unless there are organizations to choose from. */

export const isBackFromProvider = ({ path }: Place): boolean => path === '/sign-in/oidc';

const Choice = ({ found }: { readonly found: SerializedSignInChoice }): JSX.Element => {
  const [isBusy, setBusy] = useState(false);
  const press = (memberId: string): void => {
    setBusy(true);
    void choose(found, memberId);
  };
  return (
    <>
      <h1>Choose an organization</h1>
      <p class="sub">You join an organization only if you choose it here or open its invitation.</p>
      <div class="panel">
        {found.memberships.map(({ member_id: id, organization, role, status }) => (
          <button
            key={id}
            type="button"
            class={`btn ${status === 'joined' ? 'primary' : ''}`}
            disabled={isBusy}
            onClick={() => press(id)}
          >
            <span class="ell">
              {status === 'joined' ? 'Sign in to' : 'Join organization'} <bdi>{organization.name}</bdi> as {role}
            </span>
          </button>
        ))}
      </div>
    </>
  );
};

export const SignInReturn = (): JSX.Element => {
  const found = useStore(choices);
  useEffect(() => void comeBack(), []);
  return (
    <main class="si">
      <div class="box">
        <Logo />
        {found === null ? (
          <>
            <h1>Sign in to Outbox</h1>
            <p class="sub" role="status">
              You are being signed in …
            </p>
          </>
        ) : (
          <Choice found={found} />
        )}
      </div>
    </main>
  );
};
