import type { JSX } from 'preact';
import { Empty } from '../components/states.tsx';
import { type Access, listedWords, remedyFor } from '../data/access.ts';
import { session } from '../data/credentials.ts';
import { linkTo } from '../data/location.ts';
import { useStore } from '../data/store.ts';
import type { Screen } from '../screens.tsx';
import type { ListedScreen } from './palette.tsx';

interface NoAccessProps {
  readonly screen: Screen;
  readonly access: Access;
  /** The entries of the menu. */
  readonly others: readonly ListedScreen[];
}

/** Instead of a screen that the member or key may not open: what they can open, and who can grant this one. */
export const NoAccess = ({ screen, access, others }: NoAccessProps): JSX.Element => {
  const role = useStore(session)?.member?.role;
  const operation = screen.needs.map((name) => access.operations.get(name)).find((one) => one !== undefined);
  const whose = role === undefined ? 'This key' : `Your role, ${role},`;
  const can = listedWords(
    others.map(({ word }) => word),
    'and',
  );
  return (
    <>
      <div class="head">
        <h1>{screen.title}</h1>
      </div>
      <Empty
        icon="shield"
        title={`${whose} cannot open this page`}
        actions={
          others[0] !== undefined && (
            <a class="btn" href={linkTo(others[0].path)}>
              Go to {others[0].word}
            </a>
          )
        }
      >
        {can !== '' && `You can open ${can}. `}
        {operation !== undefined && <bdi>{remedyFor(access, operation)}</bdi>}
      </Empty>
    </>
  );
};
