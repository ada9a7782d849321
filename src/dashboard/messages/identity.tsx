import type { JSX } from 'preact';
import { IfAllowed } from '../components/action.tsx';
import { CopyField, Fact } from '../components/facts.tsx';
import { environmentOf, linkTo, usePlace } from '../data/location.ts';

/** The id of a message, and a link to its entries in the audit log, which is read in the live environment only. */
export const Identity = ({ id }: { readonly id: string }): JSX.Element => (
  <>
    <Fact name="Id">
      <CopyField text={id} name="id" />
    </Fact>
    {environmentOf(usePlace()) === 'live' && (
      <IfAllowed operation="GET /v1/audit/log">
        <Fact name="Provable">
          <a class="lnk" href={linkTo('/audit', { message_id: id })}>
            Entries in the audit log
          </a>
        </Fact>
      </IfAllowed>
    )}
  </>
);
