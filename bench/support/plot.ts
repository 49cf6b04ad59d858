/** One figure at several sizes. */
export interface Curve {
  readonly title: string;
  readonly points: readonly { readonly count: number; readonly value: number }[];
}

const panel = { width: 300, height: 190, left: 46, top: 34, right: 14, bottom: 30 };
const inner = { width: panel.width - panel.left - panel.right, height: panel.height - panel.top - panel.bottom };

/** Panels side by side, as SVG: sizes on a logarithmic axis, each figure from zero, so that what is linear in all lies flat. */
export function plotOf(title: string, curves: readonly Curve[]): string {
  const width = panel.width * 2 + 24;
  const height = panel.height * Math.ceil(curves.length / 2) + 28;
  const panels = curves.map((curve, at) => {
    const [x, y] = [(at % 2) * panel.width, 28 + Math.floor(at / 2) * panel.height];
    return `<g transform="translate(${x} ${y})">${panelOf(curve)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#444">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="12" y="18">${escaped(title)}</text>`,
    ...panels,
    '</svg>',
    '',
  ].join('\n');
}

function panelOf({ title, points }: Curve): string {
  const logs = points.map(({ count }) => Math.log10(count));
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  const highest = Math.max(...points.map(({ value }) => value)) * 1.25;
  const xOf = (count: number) =>
    panel.left + inner.width * (most === least ? 0.5 : (Math.log10(count) - least) / (most - least));
  const yOf = (value: number) => panel.top + inner.height * (1 - value / highest);
  const line = points.map(({ count, value }) => `${rounded(xOf(count))},${rounded(yOf(value))}`).join(' ');
  const dots = points.map(({ count, value }) => {
    const [x, y] = [rounded(xOf(count)), rounded(yOf(value))];
    return `<circle cx="${x}" cy="${y}" r="3" fill="#2563eb"/><text x="${x}" y="${y - 8}" text-anchor="middle">${rounded(value)}</text><text x="${x}" y="${panel.height - 12}" text-anchor="middle">${count.toLocaleString('en')}</text>`;
  });
  const floor = panel.top + inner.height;
  return `<text x="${panel.left}" y="16" font-weight="bold">${escaped(title)}</text><path d="M${panel.left} ${panel.top}V${floor}H${panel.width - panel.right}" fill="none" stroke="#bbb"/><text x="${panel.left - 6}" y="${floor}" text-anchor="end">0</text><polyline points="${line}" fill="none" stroke="#2563eb"/>${dots.join('')}`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
