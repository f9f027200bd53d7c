"""All parts of the campaign, in the order of its table."""
from __future__ import annotations

from tests.faults.altered import ALTERED
from tests.faults.boards import BOARDS
from tests.faults.changed import CHANGED
from tests.faults.company import COMPANY
from tests.faults.cut import CUTS
from tests.faults.found import Part
from tests.faults.full import DISKS
from tests.faults.killed import KILLS
from tests.faults.power import POWER
from tests.faults.signalled import SIGNALS

PARTS: tuple[Part, ...] = (KILLS, *BOARDS, CUTS, ALTERED, *POWER, SIGNALS, *DISKS, *CHANGED, *COMPANY)
BY_NAME = {part.name: part for part in PARTS}
