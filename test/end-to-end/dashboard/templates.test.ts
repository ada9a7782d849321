import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HTML = `<table role="presentation">
  <tr><td>
    <h1>On its way, {{ name }}.</h1>
    <p>Your parcel left our shop in {{ city }} this morning.</p>
    <a href="{{ url }}">Follow the parcel</a>
  </td></tr>
</table>
`;
const HOSTILE = '<script>window.ran = 1</script><img src="https://elsewhere.example.test/x" onerror="window.ran = 1">';

/** The current preview, not the one that is still loading. */
const SHOWN = 'iframe:not(.behind)';
const frame = (page: Page) => page.frameLocator(SHOWN);

describe.skipIf(chromiumIsMissing)('the template screens', () => {
  let shipped: string;

  const make = async (alias: string, html = HTML): Promise<string> => {
    const variables = [
      { name: 'name', type: 'string', example: 'Ana' },
      { name: 'city', type: 'string', required: false, default: 'Bergen' },
      { name: 'url', type: 'url', example: 'https://shop.example/p/1' },
    ];
    const subject = 'Your order has shipped, {{ name }}';
    const { body } = await dashboard.api.post('/v1/templates', { alias, name: alias, subject, html, variables });
    return body.id;
  };

  const dashboard = startDashboard(async ({ api }) => {
    shipped = await make('order-shipped');
    await api.post(`/v1/templates/${shipped}/publish`, {});
    await api.patch(`/v1/templates/${shipped}`, { html: `${HTML}<p>Thank you, {{ name }}</p>\n` });
  });

  test.each(WINDOWS)('show a draft and its output, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.openAs('developer', size);
    await page.goto('/dashboard/templates');
    await page.getByText('order-shipped').first().waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `templates-${name}`)).toEqual(FINE);
    await page.getByText('order-shipped').first().click();
    await page.getByText('Your order has shipped, Ana').waitFor();
    await frame(page).getByText('On its way, Ana.').waitFor();
    // A member belongs to no domain: the analysis uses the first domain of the organization.
    await page.getByText('no receiver checks example.test').waitFor();
    expect(await look(page, `template-${name}`)).toEqual(FINE);
    await page.getByRole('link', { name: 'Compare with 1' }).click();
    await page.getByText('<p>Thank you, {{ name }}</p>').waitFor();
    expect(await look(page, `template-diff-${name}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('preview a mail while it is written, and keep the last valid version', async () => {
    const id = await make('shown');
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/templates/${id}`);
    await frame(page).getByText('On its way, Ana.').waitFor();
    await page.getByRole('textbox', { name: 'Source of the HTML' }).click();
    const ring = await page.evaluate(`(() => {
      const editor = document.querySelector('.codehost').shadowRoot.querySelector('.cm-editor');
      const { outlineWidth, inset, zIndex } = getComputedStyle(editor, '::after');
      const gutters = getComputedStyle(editor.querySelector('.cm-gutters')).zIndex;
      return [outlineWidth, inset, Number(zIndex) > Number(gutters)];
    })()`);
    expect(ring).toEqual(['2px', '0px', true]);
    const width = async () => (await page.locator(SHOWN).boundingBox())?.width;
    const before = await width();
    await page.getByRole('button', { name: 'Phone' }).click();
    expect(await width()).toBeLessThanOrEqual(375);
    expect(before).toBeGreaterThan(375);
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.locator(`${SHOWN}.dark`).waitFor();
    await page.getByRole('textbox', { name: 'Source of the HTML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('<p>See you, {{ name }}</p>');
    await frame(page).getByText('See you, Ana').waitFor();
    await page.getByLabel('Example of name').fill('Ben');
    await frame(page).getByText('See you, Ben').waitFor();
    await page.getByRole('textbox', { name: 'Source of the HTML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('{% if name %}');
    await page.getByRole('button', { name: 'Go there' }).waitFor();
    await frame(page).getByText('See you, Ben').waitFor();
    // The browser logs the 422 of the failed rendering.
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([]);
    await close();
  });

  test('write, publish and roll back a template, within their content security policy', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/templates');
    await page.getByRole('button', { name: 'Create a template' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Password reset');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Password reset' }).waitFor();
    await page.getByRole('textbox', { name: 'Source of the HTML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('<p>Your code is {{ code }}</p>');
    await page.getByLabel('Name of a new variable').fill('code');
    await page.getByRole('button', { name: 'Declare' }).click();
    await page.getByLabel('Example of code').fill('123456');
    await page.getByText('Your code is 123456').waitFor();
    await page.getByText('Draft saved').waitFor();
    await page.getByRole('button', { name: 'Publish version 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish version 1' }).click();
    await page.getByText('Version 1 is live').waitFor();

    await page.getByLabel('Subject').fill('Another subject');
    await page.getByText('Draft saved').waitFor();
    await page.getByRole('button', { name: 'Publish version 2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish version 2' }).click();
    await page.getByText('Version 2 is live').waitFor();
    await page.getByRole('navigation', { name: 'Versions' }).getByRole('link', { name: /^1/ }).click();
    await page.getByRole('button', { name: 'Roll back to version 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back to version 1' }).click();
    await page.getByText('Version 1 is live').waitFor();
    const { body } = await dashboard.api.get('/v1/templates/password-reset');
    expect(body).toMatchObject({ published_version: 1, content: { subject: 'Another subject' } });
    expect(complaints).toEqual([]);
    await close();
  });

  test('send a test of the latest text', async () => {
    const id = await make('tried');
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByLabel('Subject').fill('Typed a moment ago');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByLabel('To', { exact: true }).fill('ann@example.net, bob@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'View message' }).click();
    await page.getByRole('heading', { level: 1, name: '[Test] Typed a moment ago' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('ask for an example before they show a preview', async () => {
    const variables = [{ name: 'code', type: 'string' }];
    const body = { alias: 'no-example', name: 'x', subject: 'x', html: '<p>{{ code }}</p>', variables };
    const { id } = (await dashboard.api.post('/v1/templates', body)).body;
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByText('In the table of variables, enter an example of code.').waitFor();
    expect(await page.getByText('is required').count()).toBe(0);
    expect(await look(page, 'template-no-example')).toEqual(FINE);
    await page.getByLabel('Example of code').fill('123456');
    await page.getByText('123456').first().waitFor();
    await page.getByText('No preview yet').waitFor({ state: 'detached' });
    await close();
  });

  test('show where a draft is wrong', async () => {
    const id = await make('undeclared', `${HTML}<p>{{ code }}</p>\n{% if name %}\n`);
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByText(/^Line 9, column/).waitFor();
    await page.getByRole('button', { name: 'Publish version 1', disabled: true }).waitFor();
    expect(await page.getByText(/\d of 100/).count()).toBe(0);
    await page.getByRole('button', { name: 'Go there' }).click();
    expect(await look(page, 'template-wrong')).toEqual(FINE);
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+Home');
    await page.keyboard.press('Delete');
    // The draft renders without the undeclared variable, but it cannot be published.
    await page.getByText(/^Line 8, column \d+: the variable 'code' is not declared/).waitFor();
    await page.getByText('Cannot be published: fix the draft first').waitFor();
    await page.getByRole('button', { name: 'Publish version 1', disabled: true }).waitFor();
    expect(await page.getByText(/\d of 100/).count()).toBe(0);
    expect(await look(page, 'template-refused')).toEqual(FINE);
    await page.getByLabel('Name of a new variable').fill('code');
    await page.getByRole('button', { name: 'Declare' }).click();
    await page.getByLabel('Example of code').fill('123456');
    await page.getByRole('button', { name: 'Publish version 1', disabled: false }).waitFor();
    await close();
  });

  test('delete a template whose text could not be saved', async () => {
    const id = await make('unwanted');
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByLabel('Subject').waitFor();
    await dashboard.api.patch(`/v1/templates/${id}`, { subject: 'Theirs' });
    await page.getByLabel('Subject').fill('Mine');
    await page.getByRole('button', { name: 'Take theirs' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel(/to confirm/).fill('unwanted');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
    expect((await dashboard.api.get(`/v1/templates/${id}`)).status).toBe(404);
    // The browser logs the 412 of the conflict.
    expect(complaints.filter((text) => !text.includes('412'))).toEqual([]);
    await close();
  });

  test('report that a draft was changed elsewhere, and keep the local text', async () => {
    const id = await make('contested');
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByLabel('Subject').waitFor();
    await dashboard.api.patch(`/v1/templates/${id}`, { subject: 'Theirs' });
    await page.getByLabel('Subject').fill('Mine');
    await page.getByRole('button', { name: 'Compare' }).click();
    const compared = page.getByRole('region', { name: 'Their version and yours' });
    await compared.getByText('Mine').waitFor();
    await compared.getByText('Theirs').waitFor();
    expect(await look(page, 'template-conflict')).toEqual(FINE);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await eventually(
      () => page.getByLabel('Subject').inputValue(),
      (value) => value === 'Theirs',
    );
    expect((await dashboard.api.get(`/v1/templates/${id}`)).body.content.subject).toBe('Theirs');
    await close();
  });

  test('keep the local text over what was changed elsewhere, and their other parts', async () => {
    const id = await make('kept');
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByLabel('Subject').waitFor();
    await dashboard.api.patch(`/v1/templates/${id}`, { subject: 'Theirs', preheader: 'Their preview' });
    await page.getByLabel('Subject').fill('Mine');
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Draft saved').waitFor();
    const { content } = (await dashboard.api.get(`/v1/templates/${id}`)).body;
    expect([content.subject, content.preheader]).toEqual(['Mine', 'Their preview']);
    expect(await page.getByLabel('Preview line').inputValue()).toBe('Their preview');
    await close();
  });

  test('ask before text that could not be saved is left', async () => {
    const id = await make('left');
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/templates/${id}`);
    await page.getByLabel('Subject').waitFor();
    await dashboard.api.patch(`/v1/templates/${id}`, { subject: 'Theirs' });
    await page.getByLabel('Subject').fill('Mine');
    await page.getByRole('button', { name: 'Keep mine' }).waitFor();
    await page.getByRole('link', { name: 'Templates', exact: true }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
    expect(await page.getByLabel('Subject').inputValue()).toBe('Mine');
    await close();
  });

  test('execute nothing in a template, and load nothing for it', async () => {
    const id = await make('hostile', `${HTML}${HOSTILE}`);
    const { page, complaints, close } = await dashboard.open(WIDE);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).host));
    await page.goto(`/dashboard/templates/${id}?view=source`);
    await page.getByText('window.ran = 1').first().waitFor();
    await page.getByRole('article', { name: 'Message text' }).waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect([...new Set(asked)]).toEqual([new URL(dashboard.program.baseUrl).host]);
    expect(complaints).toEqual([]);
    await close();
  });
});
