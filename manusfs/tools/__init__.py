"""What the model can call: typed functions over the workspace and the network that they are given."""

from manusfs.tools.delegation import Delegation
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import Tool, tool
from manusfs.tools.toolbox import TOOLS, ToolBox

__all__ = ["TOOLS", "Delegation", "Tool", "ToolBox", "ToolEnv", "tool"]
