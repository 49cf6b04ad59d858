// The differences between two states of the world.
import { called } from '../base/state.js';

const nameOfRow = (row) => row.name ?? row.envName ?? row.cliEnvName ?? row.token;

/** Every row that came, went or changed, with the fields that changed. */
export function changesBetween(before, after) {
  return Object.entries(called).flatMap(([name, what]) => {
    const old = before.get(name);
    const now = after[name];
    const gone = [...old].filter(([id]) => !now.has(id)).map(([id, row]) => entry('removed', what, id, row, []));
    const rest = [...now].flatMap(([id, row]) => {
      const earlier = old.get(id);
      if (earlier === row) return [];
      if (earlier === undefined) return [entry('added', what, id, row, [])];
      const fields = differences(earlier, row);
      return fields.length === 0 ? [] : [entry('changed', what, id, row, fields)];
    });
    return [...gone, ...rest];
  });
}

const entry = (verb, what, id, row, fields) => ({ verb, what, id, name: nameOfRow(row), fields });

/** Fields that change with time alone: differences in them are not shown. */
const passing = new Set(['updatedAt', 'recoveryPointAgeMs']);

function differences(old, now, under = '') {
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !passing.has(name));
  return names.flatMap((name) => {
    const [from, to] = [old[name], now[name]];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    if (isPlain(from) && isPlain(to)) return differences(from, to, `${under}${name}.`);
    return [`${under}${name}: ${short(from)} → ${short(to)}`];
  });
}

const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function short(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value) && value.some(isPlain)) return `${value.length} items`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 70 ? `${text.slice(0, 70)}…` : text;
}
