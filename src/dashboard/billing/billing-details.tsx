import type { JSX } from 'preact';
import type { SerializedOrganization } from '../../http/resources/organization.ts';
import { Action } from '../components/action.tsx';
import { request } from '../data/api.ts';
import { environmentOfOrganization } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';
import { useResource } from '../data/queries.ts';

/** Customer on later invoices. An empty name and address remove it. */
export const BillingDetails = (): JSX.Element | null => {
  const { data } = useResource<SerializedOrganization>({ path: '/v1/organization' });
  if (data === undefined) return null;
  const { billing_details: details } = data;
  const change = async (form: FormData): Promise<undefined> => {
    const text = (name: string): string => String(form.get(name) ?? '').trim();
    const [name, address, taxId] = [text('name'), text('address').replaceAll('\r\n', '\n'), text('tax_id')];
    await request('/v1/organization', {
      method: 'PATCH',
      environment: environmentOfOrganization(currentEnvironment()),
      body: { billing_details: name === '' && address === '' ? null : { name, address, tax_id: taxId || null } },
    });
  };
  return (
    <Action
      word="Save"
      opener="Billing details"
      operation="PATCH /v1/organization"
      icon="sliders"
      tone="plain"
      title="Billing details"
      act={change}
    >
      <p class="two">
        Name and address of the customer on later invoices. Without them, invoices are usage statements.
      </p>
      <label class="row">
        Legal name
        <input class="inp" name="name" maxLength={100} defaultValue={details?.name ?? ''} />
      </label>
      <label class="row">
        Postal address
        <textarea class="inp" name="address" rows={4} maxLength={400} defaultValue={details?.address ?? ''} />
      </label>
      <label class="row">
        Tax or VAT number
        <input class="inp" name="tax_id" maxLength={40} defaultValue={details?.tax_id ?? ''} placeholder="none" />
      </label>
    </Action>
  );
};
